import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubSettings
import HubWire
import Samples

struct PermissionsAllowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "allow", abstract: "Let a plugin read or share types.",
        discussion: """
            Without --read and --share both, as far as the plugin asks for them. "*" stands
            for all that it asks for.

            Examples:
              hub permissions allow exist weight heartRate --read
              hub permissions allow exist '*' --dry-run
              hub permissions allow web status trace --owner
            """)

    @OptionGroup var change: PermissionChange

    func run() throws { try change.run(isAllowed: true) }
}

struct PermissionsDenyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deny", abstract: "Keep a plugin from reading or sharing types.",
        discussion: """
            Without --read and --share both, as far as the plugin asks for them. "*" stands
            for all that it asks for. The plugin may have kept records that it read before;
            records that it shared stay.

            Examples:
              hub permissions deny exist heartRate --read
              hub permissions deny exist heartRate --dry-run
              hub permissions deny web '*' --owner
            """)

    @OptionGroup var change: PermissionChange

    func run() throws { try change.run(isAllowed: false) }
}

/// The change of permissions by `allow` and `deny`.
struct PermissionChange: ParsableArguments {
    @Argument(help: "The plugin, as hub.conf calls it.") var plugin: String
    @Argument(help: "Types, such as weight, or rights with --owner; * for all that it asks for.") var types: [String]
    @Flag(help: "Reading alone.") var read = false
    @Flag(help: "Sharing alone: writing to the hub.") var share = false
    @Flag(help: "The owner's rights, such as status and trace.") var owner = false
    @Flag(help: "Change nothing; show what would be written.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @Flag(help: "One JSON document: {\"plugin\",\"file\",\"dryRun\",\"lists\",\"permissions\",\"instances\"}.")
    var json = false
    @OptionGroup var options: ConfigurationOptions

    /// The two lists of `grants`, with their names for people.
    enum Direction: String, CaseIterable {
        case read, write

        var flag: String { self == .read ? "--read" : "--share" }
    }

    /// The change of one list.
    struct List: Encodable {
        var key: String
        var before: [String]?
        var after: [String]
    }

    struct Report: Encodable {
        var plugin, file: String
        var dryRun: Bool
        var lists: [List]
        /// The new permissions of the named types.
        var permissions: [Permission]
        var instances: [ApplyReport.Step]
    }

    func run(isAllowed: Bool) throws {
        let door = try options.door("permissions", patience: .seconds(60))
        let entry = try PluginEntry.named(plugin, door)
        if owner { return try runOwner(entry.owner ?? [], door, isAllowed: isAllowed) }
        let asked = entry.permissions ?? []
        let requestedValues = try requestedValues(asked)
        var (file, lists) = (try FollowedConfiguration(options, door), [List]())
        for (direction, types) in requestedValues {
            let before = file.editor.grants(direction.rawValue, of: plugin)
            var permissions = TypePermissions(before ?? impliedList(direction, asked))
            for type in types { if isAllowed { permissions.allow(type) } else { permissions.deny(type) } }
            guard let after = permissions.written, after != before else { continue }
            try file.setGrants(direction.rawValue, of: plugin, to: after)
            lists.append(List(key: direction.rawValue, before: before, after: after))
        }
        let named = Set(requestedValues.flatMap(\.types))
        let shown = named.contains(TypePermissions.all) ? asked.map(\.type) : named.sorted()
        let now = shown.map { type in
            Permission(
                type: type, read: state(.read, type, asked, file.editor), share: state(.write, type, asked, file.editor)
            )
        }
        try carryOut(file, lists, now) {
            requestedValues.compactMap { direction, types in
                guard let list = lists.first(where: { $0.key == direction.rawValue }) else { return nil }
                let names = types.map { $0 == TypePermissions.all ? "'*'" : $0 }.joined(separator: " ")
                let opposite = "hub permissions \(isAllowed ? "deny" : "allow") \(plugin) \(names) \(direction.flag)"
                return isTakenBack(list, types, direction, asked, isAllowed: isAllowed)
                    ? "\(opposite) takes it back"
                    : "\(opposite) \(isAllowed ? "denies" : "allows") it, but does not restore the former list; write that into \(file.path)"
            }
        }
    }

    /// Writes the changed lists and has the hub follow them, unless it is a dry run; prints the result.
    ///
    /// - Parameter advice: how to take the change back.
    func carryOut(
        _ file: FollowedConfiguration, _ lists: [List], _ permissions: [Permission], advice: () -> [String]
    ) throws {
        let steps = dryRun || lists.isEmpty ? [] : try file.write()
        if json {
            let report = Report(
                plugin: plugin, file: file.path, dryRun: dryRun, lists: lists, permissions: permissions,
                instances: steps)
            return try Output.json(try JSON.line(report))
        }
        try Output.print(PermissionText.table(permissions.map { (plugin, $0) }))
        guard !lists.isEmpty else { return Terminal.say("it is so already; nothing was changed") }
        for list in lists {
            let before = list.before.map { "[\($0.joined(separator: ", "))]" } ?? "not in the file"
            try Output.print(
                "\(file.path): \(list.key) \(dryRun ? "would be" : "is") [\(list.after.joined(separator: ", "))]; it was \(before)"
            )
        }
        guard !dryRun else { return Terminal.say("nothing was changed") }
        for line in advice() { Terminal.say(line) }
    }

    /// Whether the opposite command restores the former decisions among the asked types; it does not restore undecided ones.
    private func isTakenBack(
        _ list: List, _ types: [String], _ direction: Direction, _ asked: [Permission], isAllowed: Bool
    ) -> Bool {
        let before = TypePermissions(list.before ?? impliedList(direction, asked))
        var undone = TypePermissions(list.after)
        for type in types { if isAllowed { undone.deny(type) } else { undone.allow(type) } }
        let names = types + asked.map(\.type) + (before.granted ?? []) + before.denied
        return names.allSatisfy { undone.state(of: $0) == before.state(of: $0) }
    }

    // MARK: - Requested types

    /// The ids of the types to change, in each direction.
    private func requestedValues(_ asked: [Permission]) throws(Failure) -> [(direction: Direction, types: [String])] {
        guard !types.isEmpty else { throw Failure(.usage, "name a type, such as weight; * is all that it asks for") }
        var requestedValues: [(direction: Direction, types: [String])] = []
        var found: Set<String> = []
        let ids = try resolved()
        for direction in Direction.allCases {
            guard read == share || (direction == .read ? read : share) else { continue }
            let fitting = ids.filter { id in
                id == TypePermissions.all
                    ? asked.contains { $0.state(direction) != nil }
                    : asked.contains { TypePattern($0.type).covers(id) && $0.state(direction) != nil }
            }
            found.formUnion(fitting)
            if !fitting.isEmpty { requestedValues.append((direction, fitting)) }
        }
        if let missing = ids.first(where: { !found.contains($0) }) {
            let how = read == share ? "to read or share" : read ? "to read" : "to share"
            throw Failure(
                .usage, "\(plugin) does not ask \(how) \(missing); hub permissions \(plugin) lists its requests")
        }
        return requestedValues
    }

    private func resolved() throws(Failure) -> [String] {
        var ids: [String] = []
        for name in types {
            if let members = CorrelationMembers(of: name) {
                throw Failure(.usage, "\(name) is a correlation, which is not granted itself; \(members.advice)")
            }
            let registry = TypeRegistry.standard
            let isPattern = name == TypePermissions.all || TypePattern(name).isOfVendor
            let isDeclared = (try? TypeID(name))?.form == .vendor
            guard isPattern || isDeclared || registry.resolve(name) != nil else {
                let meant = registry.suggestion(for: name).map { "; did you mean \($0)?" } ?? ""
                throw Failure(.usage, "there is no type \(Terminal.cut(name))\(meant)")
            }
            ids += TypePermissions.resolved([name]).filter { !ids.contains($0) }
        }
        return ids
    }

    /// The meaning of a list that is not written, if that is not everything asked for: the hub cannot ask a program on another machine.
    private func impliedList(_ direction: Direction, _ asked: [Permission]) -> [String]? {
        let all = asked.first { $0.type == TypePermissions.all }
        return all?.state(direction) == .notDetermined ? [] : nil
    }

    private func state(
        _ direction: Direction, _ type: String, _ asked: [Permission], _ editor: ConfigurationEditor
    ) -> PermissionState? {
        guard asked.contains(where: { TypePattern($0.type).covers(type) && $0.state(direction) != nil }) else {
            return nil
        }
        return TypePermissions(editor.grants(direction.rawValue, of: plugin) ?? impliedList(direction, asked)).state(
            of: type)
    }
}

extension Permission {
    fileprivate func state(_ direction: PermissionChange.Direction) -> PermissionState? {
        direction == .read ? read : share
    }
}
