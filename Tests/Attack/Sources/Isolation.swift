import HubProcess

extension Attack {
    static let hostilePlugin = Attack(
        name: "hostile-plugin",
        does: "a plugin started by the hub tries everything it can think of to reach more than it was granted",
        holds: "no attempt succeeds, and its child processes end with it"
    ) { scene in
        guard Need.python.isMet else { return scene.note(Need.python.reason, 0, "") }
        let hostile = try await HostilePlugin(on: .asItIs)
        scene.note("attempts", Double(hostile.made), "")
        scene.expectNone("attempts not made", HostilePlugin.attempts - hostile.made)
        let names = hostile.through.keys.sorted().joined(separator: ", ")
        scene.expectNone("attempts that succeeded\(names.isEmpty ? "" : ": \(names)")", hostile.through.count)
        scene.expectNone("protections that this machine lacks", hostile.gaps.count)
        scene.expectNone("child processes that it failed to start", hostile.isLeftBehind.before ? 0 : 1)
        scene.expectNone("child processes that outlived it", hostile.isLeftBehind.after ? 1 : 0)
        scene.expectNone("the hub did not exit with code 0", hostile.code == 0 ? 0 : 1)
    }
}
