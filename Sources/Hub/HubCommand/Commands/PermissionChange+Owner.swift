import HubClient
import HubCore
import HubSettings
import HubWire

/// Grants a plugin the owner's rights or takes them away: `owner` of `grants` in `hub.conf`.
extension PermissionChange {
    func runOwner(isAllowed: Bool) throws {
        let door = try DoorClient(
            endpoint: try options.endpoints().door, command: "permissions", patience: .seconds(60))
        let asked = try PluginText.named(plugin, door).owner ?? []
        try judge(asked)
        var file = try FollowedConfiguration(options, door)
        let before = file.editor.grants("owner", of: plugin)
        let after = Self.changed(before ?? [], by: types, asked, isAllowed: isAllowed)
        var (lists, steps): ([List], [ApplyReport.Step]) = ([], [])
        if OwnerRight.granted(of: asked, by: before) != OwnerRight.granted(of: asked, by: after) {
            try file.setGrants("owner", of: plugin, to: after)
            lists = [List(key: "owner", before: before, after: after)]
            if !dryRun { steps = try file.write() }
        }
        if json {
            return try Output.json(
                try JSON.line(
                    Report(
                        plugin: plugin, file: file.path, dryRun: dryRun, lists: lists, permissions: [], instances: steps
                    )))
        }
        guard !lists.isEmpty else { return Terminal.say("it is so already; nothing was changed") }
        func shown(_ words: [String]) -> String { "[\(words.joined(separator: ", "))]" }
        try Output.print(
            "\(file.path): owner \(dryRun ? "would be" : "is") \(shown(after)); it was \(before.map(shown) ?? "not in the file")"
        )
        guard !dryRun else { return Terminal.say("nothing was changed") }
        let undone = Self.changed(after, by: types, asked, isAllowed: !isAllowed)
        let opposite =
            "hub permissions \(isAllowed ? "deny" : "allow") \(plugin) \(types.map { $0 == OwnerRight.all ? "'*'" : $0 }.joined(separator: " ")) --owner"
        let isUndo = OwnerRight.granted(of: asked, by: undone) == OwnerRight.granted(of: asked, by: before)
        Terminal.say(
            isUndo
                ? "\(opposite) takes it back"
                : "\(opposite) does not restore the former list; write it into \(file.path)")
    }

    /// - Throws: a failure for a word that the plugin does not ask for.
    private func judge(_ asked: [String]) throws(Failure) {
        guard !read, !share else {
            throw Failure(.usage, "--owner is neither reading nor sharing: leave --read and --share out")
        }
        guard !types.isEmpty else { throw Failure(.usage, "name a right, such as status; * is all that it asks for") }
        if asked.isEmpty { throw Failure(.usage, "\(plugin) asks for no owner's rights") }
        if let missing = types.first(where: { $0 != OwnerRight.all && !asked.contains($0) }) {
            let meant = nearestName(to: missing, among: asked).map { "; did you mean \($0)?" } ?? ""
            throw Failure(
                .usage,
                "\(plugin) does not ask for the owner's right \(Terminal.cut(missing))\(meant); it asks for \(asked.joined(separator: ", "))"
            )
        }
    }

    /// The list with the words added or removed.
    private static func changed(
        _ list: [String], by words: [String], _ asked: [String], isAllowed: Bool
    ) -> [String] {
        let isAll = list.contains(OwnerRight.all)
        if words.contains(OwnerRight.all) { return isAllowed ? [OwnerRight.all] : [] }
        if isAllowed { return isAll ? list : list + words.filter { !list.contains($0) } }
        return (isAll ? asked : list).filter { !words.contains($0) }
    }
}
