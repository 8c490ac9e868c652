import HealthText
import HubWire
import Samples

/// Reads `hub.conf` from top to bottom; each reader can be used once.
struct ConfigurationReader {
    let document: TOMLDocument
    let environment: SettingsEnvironment
    var checker: TableChecker
    /// The objections of the programs to their settings, by instance.
    let objections: [String: [SettingObjection]]
    /// The reasons why programs cannot be asked, and what to do, by instance.
    let faults: [String: String]
    /// The owner's rights that the manifests ask for, by instance.
    let rights: [String: [String]]
    /// The latest possible day today, in days since 1970-01-01: the machine's day, or that of the clock of `[hub]` if it is ahead.
    var today: Int?
    /// The positions of the persons, for problems that show only once all persons are known.
    var personPlaces: [String: SourcePosition] = [:]
    /// The persons, including those whose tables have errors.
    var persons: [PersonSection] = []
    /// The positions of display names, by person.
    var displayNamePlaces: [String: SourcePosition] = [:]
    /// The hub's network endpoint; `feedPorts` has the instance that uses each port for its feed.
    var tcp: TCPEndpoint?
    var feedPorts: [Int: String] = [:]
    /// The kinds of all plugin tables.
    ///
    /// Sources of rules with an unknown kind can be reported only when all tables have been read.
    var kinds: Set<String> = []
    var priorityPlaces: [(section: PrioritySection, header: SourcePosition, sources: SourcePosition)] = []
    var rulePlaces: [(rule: RetentionSection, header: SourcePosition, sources: SourcePosition)] = []
    var slotPlaces: [(person: String, instance: String, slot: Int, position: SourcePosition)] = []

    init(
        text: String, file: String, fileMode: UInt16?, environment: SettingsEnvironment,
        objections: [String: [SettingObjection]], faults: [String: String], rights: [String: [String]] = [:]
    ) {
        document = TOMLDocument(text)
        (self.environment, self.objections, self.faults, self.rights) = (environment, objections, faults, rights)
        today = environment.today
        checker = TableChecker(
            file: file, isPrivate: fileMode.map { $0 & 0o077 == 0 } ?? false, environment: environment)
    }

    mutating func read(manifests: (String, String) -> [SettingDeclaration]?) -> LoadedConfiguration {
        for fault in document.faults { checker.report(at: fault.position, table: nil, fault.message) }
        let pluginFields = tables(of: "plugin", as: "instance")
        let before = checker.problems.count
        let hub = hubSection()
        let isHubKnown =
            !Array(checker.problems[before...]).hasErrors
            && !document.damaged.contains { $0.isEmpty || $0.first == .key("hub") }
        persons = tables(of: "person", as: "name").compactMap { person($0, instances: pluginFields.map(\.name)) }
        let retention = tables(of: "retention", as: "name").compactMap { self.retention($0) }
        let priorities = tables(of: "priority", as: "name").compactMap { priority($0) }
        reportUnknownTables()
        reportClashingNames(personPlaces.map { ($0.key, $0.value) }, table: "person")
        reportClashingDisplayNames()
        reportClashingSlots()
        let isUsable = !checker.problems.hasErrors

        var plugins: [(instance: PluginInstance, position: SourcePosition)] = []
        var (refused, asked) = ([String](), [PluginInstance]())
        var remote: Set<String> = []
        var confinements: [String: PluginInstance.Confinement] = [:]
        reportClashingNames(pluginFields.map { ($0.name, $0.entry.position) }, table: "plugin")
        for field in pluginFields {
            let before = checker.problems.count
            let instance = plugin(field, keepRaw: hub?.keepRaw ?? false, manifests: manifests)
            if instance?.isRemote == true { remote.insert(field.name) }
            confinements[field.name] = instance?.confinement
            if let instance, instance.startsHere, !isDamaged("plugin", field.name) { asked.append(instance) }
            if let instance, !Array(checker.problems[before...]).hasErrors {
                plugins.append((instance, field.entry.position))
            } else {
                refused.append(field.name)
            }
        }
        reportDuplicates(plugins)
        reportUnknownSources()
        reportOverlappingRules()
        reportCoveredPriorities()
        let configuration = hub.map {
            var configuration = HubConfiguration(hub: $0, persons: persons, plugins: plugins.map(\.instance))
            (configuration.retention, configuration.priorities) = (retention, priorities)
            return configuration
        }
        return LoadedConfiguration(
            configuration: isUsable ? configuration : nil, hub: isHubKnown ? hub : nil,
            problems: checker.problems.sortedByPlace(),
            refusedInstances: refused, askedInstances: asked, remoteInstances: remote, confinements: confinements)
    }

    /// The tables below `[<group>]`; reports and drops those with bad names.
    private mutating func tables(of group: String, as placeholder: String) -> [Field] {
        guard let field = document.fields.first(where: { $0.name == group }) else { return [] }
        let expected = "tables [\(group).<\(placeholder)>]"
        guard let fields = checker.fields(of: field.entry, table: nil, key: group, expected: expected) else {
            return []
        }
        return fields.filter { field in
            guard case .table = field.entry.node else {
                checker.report(
                    at: field.entry.position, table: group, key: tomlKey(field.name),
                    found: checker.shown(field.entry),
                    "expected a separate table, [\(group).\(tomlKey(field.name))]; settings belong below [\(group).<\(placeholder)>]"
                )
                return false
            }
            guard PeerName.isValid(field.name) else {
                let name = group == "person" ? PersonName.derived(from: field.name) : nil
                checker.report(
                    at: field.entry.position, table: "\(group).\(tomlKey(field.name))",
                    "a name is \(HubConfiguration.nameRule)"
                        + (name.map { "; write [person.\($0)], and display_name = \(tomlQuoted(field.name)) below it" }
                            ?? ""))
                return false
            }
            return true
        }
    }

    private mutating func hubSection() -> HubSection? {
        let field = document.fields.first { $0.name == "hub" }
        let header = field?.entry.position ?? SourcePosition(line: 1, column: 1)
        var fields: [Field] = []
        if let field {
            guard let found = checker.fields(of: field.entry, table: nil, key: "hub", expected: "a table [hub]") else {
                return nil
            }
            fields = found
        }
        let values = checker.values(
            of: fields, table: "hub", declarations: HubConfiguration.hubDeclarations, header: header)
        func position(_ key: String) -> SourcePosition {
            fields.first { $0.name == key }?.entry.position ?? header
        }
        var clock = ClockSetting.system
        if let text = values["clock"]?.string {
            if let read = ClockSetting(text) {
                clock = read
                if case .simulated(let start, _) = read {
                    today = today.map { max($0, start.localDate.daysSinceEpoch) }
                }
            } else {
                checker.report(
                    at: position("clock"), table: "hub", key: "clock", found: tomlQuoted(text),
                    "expected \"system\" or START@RATE: a time with offset and a rate of 0.001 to 10000000, such as \"2026-01-01T00:00:00Z@1440\""
                )
            }
        }
        let data =
            values["data"]?.string
            ?? environment.directoryVariable("XDG_DATA_HOME").map { $0 + "/health-hub" }
            ?? environment.directoryVariable("HOME").map { $0 + "/.local/share/health-hub" }
        guard let data else {
            if !fields.contains(where: { $0.name == "data" }) {
                checker.report(at: header, table: "hub", key: "data", "missing, and HOME is not set; write a directory")
            }
            return nil
        }
        let run =
            values["run"]?.string ?? environment.directoryVariable("XDG_RUNTIME_DIR").map { $0 + "/health-hub" }
            ?? data + "/run"
        let (tcp, isInsecure) = endpoint(values, position)
        self.tcp = tcp
        let runPlace = values["run"] != nil ? "run" : "data"
        for (key, path) in [("data", data), ("run", run)] where values[key] != nil {
            guard let obstacle = environment.obstacle(at: path) else { continue }
            checker.report(
                at: position(key), table: "hub", key: key, found: tomlQuoted(path),
                "expected a directory, or a place for one; \(obstacle) is a file")
        }
        reportLongSocketPath(run, at: position(runPlace))
        var hub = HubSection(
            data: data, run: run, clock: clock, memoryLimit: values["memory_limit"]?.size,
            logLevel: values["log_level"]?.string.flatMap(HubSection.LogLevel.init) ?? .info,
            keepRaw: values["keep_raw"]?.boolean ?? false, zone: values["zone"]?.string,
            livePerSecond: values["live_per_second"]?.integer.map { Int($0) } ?? HubSection.usualLivePerSecond,
            tcp: tcp, isInsecure: isInsecure)
        if let certainty = values["assign_certainty"]?.number { hub.assignCertainty = certainty }
        return hub
    }

    private mutating func reportLongSocketPath(_ run: String, at position: SourcePosition) {
        let longestName = HubSection.socketNames.max { $0.utf8.count < $1.utf8.count } ?? ""
        let path = "\(run)/\(longestName)"
        guard path.utf8.count > HubSection.longestSocketPath else { return }
        let room = HubSection.longestSocketPath - longestName.utf8.count - 1
        checker.report(
            at: position, table: "hub", key: "run", found: tomlQuoted(run),
            "the socket path \(path) has \(path.utf8.count) bytes and the system allows \(HubSection.longestSocketPath); set run to a directory of at most \(room) bytes"
        )
    }

    /// A former setting that nothing ever read; a file that has it is still correct.
    private static let formerDayStart = "day_start"

    private mutating func person(_ field: Field, instances: [String]) -> PersonSection? {
        guard case .table(let fields) = field.entry.node else { return nil }
        let table = "person.\(field.name)"
        personPlaces[field.name] = field.entry.position
        let values = checker.values(
            of: fields.filter { $0.name != Self.formerDayStart }, table: table,
            declarations: HouseholdSettings.ofPersons, alsoKnown: ["slots"], header: field.entry.position)
        var person = PersonSection(name: field.name)
        person.displayName = readDisplayName(values["display_name"]?.string, fields, table: table)
        displayNamePlaces[field.name] = fields.first { $0.name == "display_name" }?.entry.position
        person.height = values["height"]?.number
        person.sex = values["sex"]?.string.flatMap(PersonProfile.Sex.init)
        person.birthDate = values["birth_date"]?.string.flatMap { LocalDate($0) }
        person.athlete = values["athlete"]?.boolean
        person.unit = values["unit"]?.string.flatMap(PersonProfile.Unit.init)
        person.locale = values["locale"]?.string
        if let units = fields.first(where: { $0.name == "units" }), values["units"] != nil {
            person.units = readUnits(units, table: table)
        }
        person.zone = values["zone"]?.string
        person.expectedWeight = values["expected_weight"]?.number
        person.weightTolerance = values["weight_tolerance"]?.number
        reportInvalidFields(fields, person, table: table)
        if let former = fields.first(where: { $0.name == Self.formerDayStart }) {
            checker.report(
                .warning, at: former.entry.position, table: table, key: former.name,
                found: checker.shown(former.entry),
                "has no effect; the gap-filler has this setting: day_starts = [\"\(field.name)=04:00\"] in [plugin.gap-filler]"
            )
        }
        if let slots = fields.first(where: { $0.name == "slots" }) {
            person.slots = readSlots(slots, person: field.name, instances: instances)
        }
        return person
    }

    private mutating func readDisplayName(_ text: String?, _ fields: [Field], table: String) -> String? {
        guard let text, let field = fields.first(where: { $0.name == "display_name" }) else { return nil }
        if let fault = PersonName.fault(ofDisplayName: text) {
            checker.report(
                at: field.entry.position, table: table, key: field.name, found: checker.shown(field.entry), fault)
            return nil
        }
        return PersonName.precomposed(text)
    }

    /// Reports values that have the right type but make no sense.
    private mutating func reportInvalidFields(_ fields: [Field], _ person: PersonSection, table: String) {
        func field(_ name: String) -> Field? { fields.first { $0.name == name } }
        // Somewhere it is already tomorrow.
        if let date = person.birthDate, date.year < 1900 || date.daysSinceEpoch > (today ?? .max - 1) + 1,
            let field = field("birth_date")
        {
            checker.report(
                at: field.entry.position, table: table, key: field.name, found: checker.shown(field.entry),
                "expected a date from 1900-01-01 to today")
        }
        if let locale = person.locale, DisplayPreferences.locale(locale) == nil, let field = field("locale") {
            checker.report(
                at: field.entry.position, table: table, key: field.name, found: checker.shown(field.entry),
                "there is no such language or region; expected such as \"en_US\", \"de_DE\", \"fr_FR\", \"es_ES\", \"ja_JP\""
            )
        }
        if let tolerance = field("weight_tolerance"), field("expected_weight") == nil {
            checker.report(
                at: tolerance.entry.position, table: table, key: tolerance.name, found: checker.shown(tolerance.entry),
                "has no effect without expected_weight; write that too")
        }
    }

    /// `["weight=st", "height=ft"]`: each a type and a unit that fits it.
    private mutating func readUnits(_ field: Field, table: String) -> [TypeID: String] {
        guard case .array(let entries) = field.entry.node else { return [:] }
        var units: [TypeID: String] = [:]
        for entry in entries {
            func report(_ message: String, suggestion: String? = nil) {
                checker.report(
                    at: entry.position, table: table, key: field.name, found: checker.shown(entry), message,
                    suggestion: suggestion)
            }
            guard case .string(let text) = entry.node, let equals = text.firstIndex(of: "=") else { continue }
            let (name, written) = (String(text[..<equals]), String(text[text.index(after: equals)...]))
            guard let type = TypeRegistry.standard.resolve(name) else {
                let suggestion = TypeRegistry.standard.suggestion(for: name)
                report("there is no type \(name)", suggestion: suggestion.map { tomlQuoted("\($0)=\(written)") })
                continue
            }
            guard let own = type.healthUnit else {
                report("\(type.id) has no unit: it is of kind \(type.kind)")
                continue
            }
            let unit = UnitHints.usual(written) ?? written
            guard let meant = try? type.meant(by: unit), meant.isCompatible(with: own) else {
                report("\(written) does not fit \(type.id), which is read in \(DisplayPreferences.readable(type))")
                continue
            }
            if units.updateValue(unit, forKey: type.id) != nil { report("there are two units for \(type.id)") }
        }
        return units
    }

    private mutating func readSlots(_ field: Field, person: String, instances: [String]) -> [String: Int] {
        let table = "person.\(person)"
        let expected = "positions by instance, such as { ihealth-hs5 = 0 }"
        guard let slots = checker.fields(of: field.entry, table: table, key: "slots", expected: expected) else {
            return [:]
        }
        var result: [String: Int] = [:]
        for slot in slots {
            let key = "slots.\(tomlKey(slot.name))"
            guard instances.contains(slot.name) || mayExist("plugin", slot.name) else {
                checker.report(
                    at: slot.entry.position, table: table, key: key, "there is no [plugin.\(tomlKey(slot.name))]",
                    suggestion: nearestName(to: slot.name, among: instances))
                continue
            }
            // An HS5 has positions 0 to 19; no supported scale has more.
            guard case .integer(let position) = slot.entry.node, (0...19).contains(position) else {
                checker.report(
                    at: slot.entry.position, table: table, key: key, found: checker.shown(slot.entry),
                    "expected a whole number from 0 to 19")
                continue
            }
            result[slot.name] = Int(position)
            slotPlaces.append((person, slot.name, Int(position), slot.entry.position))
        }
        return result
    }

    private mutating func reportUnknownTables() {
        let known = ["hub", "person", "plugin", "retention", "priority"]
        for field in document.fields where !known.contains(field.name) {
            let suggestion = nearestName(to: field.name, among: known)
            guard case .table = field.entry.node else {
                let isOfHub = HubConfiguration.hubDeclarations.contains { $0.name == field.name }
                let message = isOfHub ? "belongs below [hub]" : "unknown key; every setting stands in a table"
                checker.report(at: field.entry.position, table: nil, key: tomlKey(field.name), message)
                continue
            }
            let message = "unknown table"
            checker.report(
                at: field.entry.position, table: tomlKey(field.name),
                suggestion == nil
                    ? message
                        + "; the tables are [hub], [person.<name>], [plugin.<instance>], [retention.<name>] and [priority.<name>]"
                    : message,
                suggestion: suggestion.map {
                    $0 == "hub" ? "[hub]" : $0 == "plugin" ? "[plugin.<instance>]" : "[\($0).<name>]"
                })
        }
    }

    /// Whether the table `[<group>.<name>]` may exist although it was not read, because of a syntax fault.
    func mayExist(_ group: String, _ name: String) -> Bool {
        isDamaged(group, name) || document.damaged.contains([])
    }

    /// Whether a syntax fault removed a part of the table `[<group>.<name>]`.
    func isDamaged(_ group: String, _ name: String) -> Bool {
        document.damaged.contains([.key(group), .key(name)])
    }
}
