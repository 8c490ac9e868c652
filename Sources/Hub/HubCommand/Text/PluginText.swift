import HealthText
import HubClient
import HubWire
import Samples

/// An entry of the hub's answer about its plugins, for people.
extension PluginEntry {
    /// - Parameter tokens: the state of its log-ins; `nil` if not known.
    func lines(tokens: [TokenStatus]?) -> [String] {
        var facts: [(String, String?)] = [
            ("what", summary), ("program", executable.map { version == nil ? $0 : "\($0), version \(version ?? "")" }),
            ("where", remote == true ? "another machine; it comes with a key (hub keys list)" : nil),
            ("reads", PluginEntry.types(asked: reads, grants?.read).map { $0 + (history.map { ", \($0)" } ?? "") }),
            ("writes", PluginEntry.types(asked: writes, grants?.write)),
            ("persons", (persons.map { $0.joined(separator: ", ") } ?? "all") + told), ("owner's", ownersRights),
            ("confined", confined), ("tier", tier?.text), ("fault", fault),
        ]
        if commands?.contains(where: { $0.name == "login" }) == true || tokens?.isEmpty == false {
            let logIns = (tokens ?? []).map(PluginEntry.logIn)
            facts.append(
                (
                    "log-in",
                    logIns.isEmpty
                        ? "none, and it has not asked for one (hub login \(name))" : logIns.joined(separator: "; ")
                ))
        }
        facts.removeAll { $0.1 == nil }
        var lines = [name + (kind == name ? "" : " (\(kind))") + (enabled ? "" : ", not enabled")]
        lines += facts.map { "  \($0.0)\(String(repeating: " ", count: 9 - $0.0.count))\($0.1 ?? "")" }
        var table = Table(["  SETTING", "VALUE", "FROM", "MEANING"])
        for declaration in declarations ?? [] {
            let value = settings[declaration.name]
            let from = value == nil ? "" : value == declaration.defaultValue ? "default" : "hub.conf"
            table.add(["  " + declaration.name, value.map(SettingAnswer.text) ?? "-", from, declaration.help])
        }
        return lines + (declarations?.isEmpty ?? true ? [] : table.takeLines()) + commandLines
    }

    private var confined: String? {
        guard remote != true else { return nil }
        guard let isolation else { return "no: it may do all that the hub's user may (confine = false)" }
        let reached = reaches?.isEmpty == false ? "; reaches \(reaches?.joined(separator: ", ") ?? "")" : ""
        return isolation.text + reached
    }

    /// The owner's rights that it has, and those that it asks for and does not have.
    private var ownersRights: String? {
        guard let owner, !owner.isEmpty else { return nil }
        let granted = grants?.owner ?? []
        let refused = owner.filter { !granted.contains($0) }
        let may = granted.isEmpty ? "nothing" : granted.joined(separator: ", ")
        return refused.isEmpty
            ? may : "\(may) (asks also for \(refused.joined(separator: ", ")); not granted: hub permissions --help)"
    }

    private var told: String { profiles == true ? "; it gets their height, sex, birth date, unit and slot" : "" }

    /// The hub's entry for an instance.
    ///
    /// - Throws: ``HubExit/usage`` if there is none of that name.
    static func named(_ name: String, _ door: DoorClient) throws -> PluginEntry {
        let plugins = try door.ask(.plugins, as: [PluginEntry].self)
        if let plugin = plugins.first(where: { $0.name == name }) { return plugin }
        throw Failure(.usage, try absence(of: name, among: plugins.map(\.name), door))
    }

    /// The fault of the section of a plugin that is missing in the hub's answer; `nil` if there is no such section.
    static func refusal(of name: String, _ door: DoorClient) throws -> String? {
        let status = try door.ask(.status, as: HubStatus.self)
        return status.plugins.first { $0.name == name }.map {
            "\(name): \($0.advice ?? "hub check says what is wrong")"
        }
    }

    /// The reason why the hub's answer has no plugin of that name.
    static func absence(of name: String, among names: [String], _ door: DoorClient) throws -> String {
        if let refusal = try refusal(of: name, door) { return refusal }
        if let person = try door.open().persons.named(name) {
            return
                "\(person.name) is a person and no plugin; hub configure --person \(person.name) changes their settings"
        }
        let nearest = nearestName(to: name, among: names).map { "; did you mean \($0)?" }
        return "there is no plugin \(name)\(nearest ?? "; hub plugins lists those of hub.conf, hub setup adds one")"
    }

    /// Prints its commands.
    func listCommands(json: Bool) throws {
        if json { return try Output.json(try JSON.line(commands ?? [])) }
        if commandLines.isEmpty { Terminal.say("\(name) has no commands") }
        try Output.print(commandLines)
    }

    /// One line for each command, and one for each of its arguments.
    var commandLines: [String] {
        var table = Table(["  COMMAND", "ARGUMENT", "DEFAULT", "MEANING"])
        for command in commands ?? [] {
            table.add(["  " + command.name, "", "", command.help + (command.canDryRun ? " (--dry-run)" : "")])
            for argument in command.arguments {
                let value = argument.defaultValue.map(SettingAnswer.text) ?? (argument.isRequired ? "needed" : "-")
                table.add(["", argument.name, value, argument.help])
            }
        }
        return commands?.isEmpty ?? true ? [] : table.takeLines()
    }

    private static func logIn(_ token: TokenStatus) -> String {
        let who = token.user.map { "\($0) (\(token.account))" } ?? token.account
        if let advice = token.advice { return "\(who): \(advice)" }
        return who + (token.expires.map { ", until \(LocalTime.text($0) ?? $0)" } ?? "")
    }

    /// The granted types, and the others that it asks for.
    private static func types(asked: [String]?, _ scope: PluginEntry.Scope?) -> String? {
        guard let scope else { return asked.flatMap(types) }
        let granted = scope.types
        if granted == ["*"], let denied = scope.denied { return "all types but \(denied.joined(separator: ", "))" }
        let refused = asked.map { names in
            let asked = names.map { TypeRegistry.standard.resolve($0)?.id.rawValue ?? $0 }
            return asked.contains("*") && !granted.contains("*")
                ? ["all types"] : asked.filter { !granted.contains($0) }
        }
        guard let refused, !refused.isEmpty, !granted.contains("*") else { return types(granted) }
        return "\(types(granted) ?? "nothing") (asks also for \(refused.joined(separator: ", ")); not granted)"
    }

    private static func types(_ types: [String]) -> String? {
        types.isEmpty ? nil : types == ["*"] ? "all types" : types.joined(separator: ", ")
    }
}
