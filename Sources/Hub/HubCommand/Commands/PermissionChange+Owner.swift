import HubClient
import HubCore
import HubSettings
import HubWire

/// Grants a plugin the owner's rights or takes them away: `owner` of `grants` in `hub.conf`.
extension PermissionChange {
    func runOwner(_ asked: [String], _ door: DoorClient, isAllowed: Bool) throws {
        try judge(asked)
        var file = try FollowedConfiguration(options, door)
        let before = file.editor.grants("owner", of: plugin)
        let after = Self.changed(before ?? [], by: types, asked, isAllowed: isAllowed)
        var lists: [List] = []
        if OwnerRight.granted(of: asked, by: before) != OwnerRight.granted(of: asked, by: after) {
            try file.setGrants("owner", of: plugin, to: after)
            lists = [List(key: "owner", before: before, after: after)]
        }
        try carryOut(file, lists, []) {
            let undone = Self.changed(after, by: types, asked, isAllowed: !isAllowed)
            let names = types.map { $0 == OwnerRight.all ? "'*'" : $0 }.joined(separator: " ")
            let opposite = "hub permissions \(isAllowed ? "deny" : "allow") \(plugin) \(names) --owner"
            let isUndo = OwnerRight.granted(of: asked, by: undone) == OwnerRight.granted(of: asked, by: before)
            return [
                isUndo
                    ? "\(opposite) takes it back"
                    : "\(opposite) does not restore the former list; write it into \(file.path)"
            ]
        }
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
    private static func changed(_ list: [String], by words: [String], _ asked: [String], isAllowed: Bool) -> [String] {
        let isAll = list.contains(OwnerRight.all)
        if words.contains(OwnerRight.all) { return isAllowed ? [OwnerRight.all] : [] }
        if isAllowed { return isAll ? list : list + words.filter { !list.contains($0) } }
        return (isAll ? asked : list).filter { !words.contains($0) }
    }
}
