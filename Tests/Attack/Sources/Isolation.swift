import HubProcess

extension Attack {
    static let hostilePlugin = Attack(
        name: "hostile-plugin",
        does: "a plugin that the hub has started tries all it can think of to reach more than it was granted",
        holds: "nothing gets through, and what it leaves behind ends with it"
    ) { scene in
        guard Need.python.isMet else { return scene.note(Need.python.reason, 0, "") }
        let hostile = try await HostilePlugin(on: .asItIs)
        scene.note("attempts", Double(hostile.made), "")
        scene.expectNone("attempts that it did not make", HostilePlugin.attempts - hostile.made)
        let names = hostile.through.keys.sorted().joined(separator: ", ")
        scene.expectNone("attempts that got through\(names.isEmpty ? "" : ": \(names)")", hostile.through.count)
        scene.expectNone("protections that this machine lacks", hostile.gaps.count)
        scene.expectNone("processes that it did not leave behind", hostile.isLeftBehind.before ? 0 : 1)
        scene.expectNone("processes that outlived it", hostile.isLeftBehind.after ? 1 : 0)
        scene.expectNone("the hub did not end in good order", hostile.code == 0 ? 0 : 1)
    }
}
