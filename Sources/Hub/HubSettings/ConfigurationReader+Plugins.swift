import HubWire
import Samples

extension ConfigurationReader {
    /// One `[plugin.<instance>]`; nil or with problems reported if it cannot start.
    mutating func plugin(
        _ field: Field, keepRaw: Bool, manifests: (String, String) -> [SettingDeclaration]?
    ) -> PluginInstance? {
        guard case .table(let fields) = field.entry.node else { return nil }
        let (name, table) = (field.name, "plugin.\(field.name)")
        let reserved = SettingDeclaration.reservedNames
        let common = fields.filter { reserved.contains($0.name) }
        let own = fields.filter { !reserved.contains($0.name) }
        let values = checker.values(
            of: common, table: table, declarations: HubConfiguration.pluginDeclarations,
            alsoKnown: ["persons", "grants"],
            header: nil)
        var instance = PluginInstance(
            name: name, enabled: values["enabled"]?.boolean ?? true, kind: values["kind"]?.string,
            executable: values["executable"]?.string, keepRaw: values["keep_raw"]?.boolean ?? keepRaw,
            memoryLimit: values["memory_limit"]?.size ?? PluginInstance.defaultMemoryLimit)
        kinds.insert(instance.kind)
        instance.limitFactor = values["limit_factor"]?.integer.map { Int($0) } ?? 1
        instance.run = values["run"]?.string.flatMap(PluginInstance.Run.init) ?? .always
        if instance.executable.contains("/"),
            let path = checker.judge.environment.absolute(
                instance.executable, from: checker.judge.directory)
        {
            instance.executable = path
        }
        instance.confinement.readable = values["readable"]?.strings ?? []
        instance.confinement.isOn = values["confine"]?.boolean ?? true
        if !instance.confinement.isOn, let place = common.first(where: { $0.name == "confine" }) {
            checker.report(
                .warning, at: place.entry.position, table: table, key: "confine", found: "false",
                "its program may do all that the hub's user may: read the store, the tokens and every file, and speak as the owner; remove the line once you have finished debugging"
            )
        }
        readRemote(&instance, values, common, table: table)
        if let persons = common.first(where: { $0.name == "persons" }) {
            instance.persons = readPersons(persons.entry, table: table)
        }
        if let grants = common.first(where: { $0.name == "grants" }) {
            instance.grants = readGrants(grants.entry, table: table)
            reportOwner(instance, grants.entry, table: table)
        }
        reportReserved(instance, common, at: field.entry.position, table: table)
        let isDamaged = isDamaged("plugin", name)
        if isDamaged {
            checker.report(
                at: field.entry.position, table: table, "does not start while a part of it cannot be read")
        }
        guard let declarations = manifests(name, instance.executable) else {
            if instance.isRemote {
                reportRemote(instance, own: own, at: field.entry.position, table: table)
            } else if instance.enabled {
                let place = common.first { $0.name == "executable" }
                checker.report(
                    at: place?.entry.position ?? field.entry.position, table: table, key: "executable",
                    found: tomlQuoted(instance.executable),
                    faults[name]
                        ?? "no such plugin, or it does not answer --describe; install it, correct executable, or set enabled = false"
                )
            }
            return instance
        }
        let faults = SettingDeclaration.faults(in: declarations)
        for fault in faults {
            checker.report(
                at: field.entry.position, table: table, key: "executable", found: tomlQuoted(instance.executable),
                "its manifest is wrong: \(fault)")
        }
        guard faults.isEmpty else { return instance }
        // Suggestions for unknown keys include the reserved ones, although `own` contains none of them.
        instance.settings = checker.values(
            of: own, table: table, declarations: declarations, alsoKnown: reserved,
            header: isDamaged || !instance.enabled ? nil : field.entry.position)
        // A default replaces a wrong value, so that the program can still check the other settings.
        for declaration in declarations where instance.settings[declaration.name] == nil {
            guard let value = declaration.defaultValue,
                case .good(let judged) = checker.judge.judge(Node(value), as: declaration.type)
            else { continue }
            instance.settings[declaration.name] = judged
        }
        for objection in objections[name] ?? [] {
            report(objection, own, declarations, at: field.entry.position, table: table)
        }
        return instance
    }

    private mutating func report(
        _ objection: SettingObjection, _ own: [Field], _ declarations: [SettingDeclaration],
        at header: SourcePosition, table: String
    ) {
        let entry = own.first { $0.name == objection.setting }?.entry
        let isSecret = declarations.contains { $0.name == objection.setting && $0.isSecret }
        let found = entry.flatMap { isSecret ? Secret.placeholder : checker.shown($0) }
        checker.report(
            objection.severity, at: entry?.position ?? header, table: table, key: objection.setting,
            found: found.flatMap { objection.reason.contains($0) ? nil : $0 }, objection.reason)
    }

    /// Reports an instance or kind whose name belongs to the hub itself or to entries by hand.
    private mutating func reportReserved(
        _ instance: PluginInstance, _ fields: [Field], at header: SourcePosition, table: String
    ) {
        let reserved = PeerName.reserved
        if reserved.contains(instance.name) {
            checker.report(at: header, table: table, "\(instance.name) is a name of the hub's own; take another")
        } else if reserved.contains(instance.kind), let kind = fields.first(where: { $0.name == "kind" }) {
            checker.report(
                at: kind.entry.position, table: table, key: "kind", found: checker.shown(kind.entry),
                "that is a name of the hub's own; expected the name that the program says with --describe")
        }
    }

    private mutating func readPersons(_ entry: Entry, table: String) -> PluginInstance.Persons {
        if case .string("all") = entry.node { return .all }
        guard case .array(let entries) = entry.node else {
            checker.report(
                at: entry.position, table: table, key: "persons", found: checker.shown(entry),
                "expected \"all\" or a list of names, such as [\"anna\"]")
            return .only([])
        }
        var names: [String] = []
        for element in entries {
            guard case .string(let name) = element.node else {
                checker.report(
                    at: element.position, table: table, key: "persons", found: checker.shown(element), "expected a name"
                )
                continue
            }
            guard let person = persons.named(name)?.name ?? (mayExist("person", name) ? name : nil) else {
                checker.report(
                    at: element.position, table: table, key: "persons", found: checker.shown(element),
                    "there is no [person.\(tomlKey(name))]",
                    suggestion: nearestName(to: name, among: personPlaces.keys).map(tomlQuoted))
                continue
            }
            if !names.contains(person) { names.append(person) }
        }
        return .only(names)
    }

    private mutating func readGrants(_ entry: Entry, table: String) -> PluginInstance.Grants {
        let expected =
            "{ read = [types], write = [types], since = date, days = number, reach = [words], owner = [words] }"
        let types = SettingType.list(
            of: .string(
                TextRule(
                    pattern: #"!?\*|x\.[A-Za-z0-9_.\-]+\.\*|!?[A-Za-z0-9_.\-]+"#,
                    expected:
                        "\"*\" for all that it asks for, \"x.VENDOR.*\", a type, or \"!TYPE\" for one that is denied",
                    example: "weight")))
        guard let fields = checker.fields(of: entry, table: table, key: "grants", expected: expected) else {
            return PluginInstance.Grants()
        }
        let values = checker.values(
            of: fields, table: "\(table).grants",
            declarations: [
                .init("read", types, help: "Types the instance may read."),
                .init("write", types, help: "Types the instance may write."),
                .init("since", .date, help: "The instance may not read records that ended before this day."),
                .init(
                    "days", .integer(Bounds(1, HistoryLimit.maximumDays)),
                    help: "The instance may not read records that ended more than this many days ago."),
                .init(
                    "reach", .list(of: .choice(PluginReach.allCases.map(\.rawValue))),
                    help: "Places beyond its files that its program may reach."),
                .init(
                    "owner", .list(of: .choice([OwnerRight.all] + OwnerRight.grantable.map(\.rawValue))),
                    help: "The owner's rights that it has."),
            ], header: nil)
        for field in fields where ["read", "write"].contains(field.name) {
            guard case .array(let entries) = field.entry.node else { continue }
            for case .string(let type) in entries.map(\.node) {
                guard let members = CorrelationMembers(of: type.hasPrefix("!") ? String(type.dropFirst()) : type)
                else { continue }
                checker.report(
                    at: field.entry.position, table: "\(table).grants", key: field.name, found: tomlQuoted(type),
                    "a correlation is not granted itself; \(members.advice)")
            }
        }
        for key in ["read", "write"] {
            guard let list = values[key]?.strings, !list.isEmpty, list != ["!*"],
                list.allSatisfy({ $0.hasPrefix(TypePermissions.not) }),
                let field = fields.first(where: { $0.name == key })
            else { continue }
            checker.report(
                at: field.entry.position, table: "\(table).grants", key: key, found: checker.shown(field.entry),
                "only denies, and grants nothing; to grant the rest, begin with \"*\"")
        }
        var history = values["since"]?.string.flatMap { LocalDate($0) }.map(HistoryLimit.since)
        if let days = values["days"]?.integer {
            if history != nil {
                checker.report(
                    at: entry.position, table: "\(table).grants", key: "days",
                    "since and days both say how far back it may read; write one of them")
            }
            history = .days(Int(days))
        }
        return PluginInstance.Grants(
            read: values["read"]?.strings, write: values["write"]?.strings, reach: values["reach"]?.strings,
            history: history, owner: values["owner"]?.strings)
    }

    /// Reports owner's rights that are granted to an instance that cannot have them or does not ask for them.
    private mutating func reportOwner(_ instance: PluginInstance, _ entry: Entry, table: String) {
        guard let words = instance.grants.owner, !words.isEmpty, case .table(let fields) = entry.node,
            let field = fields.first(where: { $0.name == "owner" })
        else { return }
        if instance.isRemote {
            checker.report(
                at: field.entry.position, table: "\(table).grants", key: "owner", found: checker.shown(field.entry),
                "the owner's rights are only for programs that the hub starts on this machine; remove owner")
        } else if let asked = rights[instance.name] {
            let needless = words.filter { $0 == OwnerRight.all ? asked.isEmpty : !asked.contains($0) }
            guard !needless.isEmpty else { return }
            let says = asked.isEmpty ? "none" : asked.map(tomlQuoted).joined(separator: ", ")
            checker.report(
                .warning, at: field.entry.position, table: "\(table).grants", key: "owner",
                found: needless.map(tomlQuoted).joined(separator: ", "),
                "has no effect: of the owner's rights its program asks for \(says); remove these")
        }
    }

    /// Reports names that differ only in case: they are one directory on some file systems, and one word to a reader.
    mutating func reportClashingNames(_ names: [(name: String, position: SourcePosition)], table: String) {
        var seen: [String: String] = [:]
        for (name, position) in names.sorted(by: {
            ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column)
        }) {
            guard let other = seen.updateValue(name, forKey: name.lowercased()) else { continue }
            checker.report(
                at: position, table: "\(table).\(name)", "differs from [\(table).\(other)] only in case; rename one")
        }
    }

    /// Reports a display name that another person has too, because it would be ambiguous.
    mutating func reportClashingDisplayNames() {
        for (number, person) in persons.enumerated() {
            guard let shown = person.displayName, let position = displayNamePlaces[person.name] else { continue }
            let folded = PersonName.folded(shown)
            let other = persons.enumerated().first { place, other in
                guard place != number else { return false }
                // Of two equal ones, report the later.
                return PersonName.folded(other.name) == folded
                    || place < number && other.displayName.map(PersonName.folded) == folded
            }
            guard let other = other?.element else { continue }
            checker.report(
                at: position, table: "person.\(person.name)", key: "display_name", found: tomlQuoted(shown),
                "[person.\(other.name)] is called so already; upper and lower case count as one")
        }
    }

    mutating func reportClashingSlots() {
        for (number, slot) in slotPlaces.enumerated() {
            let first = slotPlaces[..<number].first { $0.instance == slot.instance && $0.slot == slot.slot }
            guard let first else { continue }
            checker.report(
                at: slot.position, table: "person.\(slot.person)", key: "slots.\(slot.instance)",
                found: String(slot.slot),
                "[person.\(first.person)] has this position already; give each person their own")
        }
    }

    /// Reports two enabled instances that would do the same work.
    mutating func reportDuplicates(_ plugins: [(instance: PluginInstance, position: SourcePosition)]) {
        for (number, plugin) in plugins.enumerated() where plugin.instance.startsHere {
            let twin = plugins[..<number].first {
                $0.instance.startsHere && $0.instance.executable == plugin.instance.executable
                    && $0.instance.settings == plugin.instance.settings
                    && $0.instance.persons == plugin.instance.persons
            }
            guard let twin else { continue }
            checker.report(
                .warning, at: plugin.position, table: "plugin.\(plugin.instance.name)",
                "does the same as [plugin.\(twin.instance.name)]: the same executable with the same settings and persons; disable one"
            )
        }
    }
}
