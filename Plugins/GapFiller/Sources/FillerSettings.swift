import HubWire
import PluginKit
import Samples

/// The validated settings of `[plugin.gap-filler]`.
struct FillerSettings: Hashable, Sendable {
    /// A type from which days are computed.
    struct DayType: Hashable, Sendable {
        let type: HealthType
        let treatment: DayTreatment

        static func == (left: DayType, right: DayType) -> Bool { left.type.id == right.type.id }
        func hash(into hasher: inout Hasher) { hasher.combine(type.id) }
    }

    /// The time zone that determines the day of a sample.
    enum Zone: Hashable, Sendable {
        case sample
        case fixed(String)
        /// The person's present zone.
        case current
    }

    let types: [DayType]
    let aggregators: [Aggregator]
    let carryDays: Int
    let zone: Zone
    /// Minutes after midnight, for persons without an entry in `dayStarts`.
    let dayStart: Int
    private(set) var dayStarts: [String: Int]
    private(set) var sources: [Choice<SourceChoice>]
    private(set) var stops: [Choice<LocalDate>]

    /// A setting for a type, for one person or for all.
    struct Choice<Value: Hashable & Sendable>: Hashable, Sendable {
        var person: String?
        let type: TypeID
        let value: Value
    }

    /// A source by its plugin, or by plugin and device.
    struct SourceChoice: Hashable, Sendable {
        let plugin: String
        let device: String?

        func matches(_ source: Source) -> Bool {
            source.plugin == plugin && (device == nil || source.device == device)
        }
    }

    /// The aggregators that the setting `series` allows; a sum and a weighted mean are used for `mean` where the type requires it.
    private static let choices = Aggregator.allCases.filter { $0 != .sum && $0 != .weightedMean }

    static let declarations: [SettingDeclaration] = [
        SettingDeclaration(
            "types", .list(of: .string(TextRule(example: "stepCount"))),
            help:
                "Types that get day values: means are carried for slow measures of the body, cumulative types are summed.",
            default: .list([.string("weight")])),
        SettingDeclaration(
            "series", .list(of: .choice(Self.choices.map(\.rawValue))),
            help: "How the readings of a day are combined; each choice makes one series.",
            default: .list([.string("mean")])),
        SettingDeclaration(
            "carry_days", .integer(Bounds(1, Int64(SeriesRules.maximumDays))),
            help: "For how many days a value counts, including its own day; 1 carries nothing.",
            default: .integer(Int64(SeriesRules.maximumDays))),
        SettingDeclaration(
            "day_zone", .choice(["sample", "fixed", "current"]),
            help:
                "Which date counts: that of the place of measurement, of the setting zone, or of the person's present zone.",
            default: .string("sample")),
        SettingDeclaration("zone", .timeZone, help: "The zone of day_zone = \"fixed\"."),
        SettingDeclaration(
            "day_start", .timeOfDay,
            help: "When a day begins; with 04:00, what happens at half past one belongs to the day before.",
            default: .string("00:00")),
        SettingDeclaration(
            "day_starts",
            .list(
                of: .string(
                    TextRule(
                        pattern: "[^=]+=([01][0-9]|2[0-3]):[0-5][0-9]", expected: "a person, = and a time",
                        example: "anna=04:00"))),
            help: "The same for single persons.", default: .list([])),
        SettingDeclaration(
            "sources",
            .list(
                of: .string(
                    TextRule(
                        pattern: "([^=:]+:)?[^=:]+=.+",
                        expected: "type=plugin, type=plugin/device or person:type=plugin",
                        example: "weight=ihealth-hs4"))),
            help:
                "Sources of a type, the best first; on each day only the first with readings counts, or all if none has any. For sums, [priority.NAME] of hub.conf decides.",
            default: .list([])),
        SettingDeclaration(
            "stop_carrying",
            .list(
                of: .string(
                    TextRule(
                        pattern: "([^=:]+:)?[^=:]+=[0-9]{4}-[0-9]{2}-[0-9]{2}",
                        expected: "type=date or person:type=date", example: "anna:weight=2024-05-01"))),
            help: "From this day on no older value is carried, for example because the scale was given away.",
            default: .list([])),
    ]

    /// - Throws: ``PluginFailure`` that names the invalid setting.
    init(_ settings: PluginSettings) throws {
        carryDays = Int(try settings.integer("carry_days"))
        dayStart = try Self.minutes(try settings.text("day_start"), "day_start")
        let found = Result { try Self.types(try settings.texts("types")) }
        // Compare choices with the types only if the types are valid.
        let known = try? found.get()
        let starts: [(String, Int)]
        (types, aggregators, zone, starts, sources, stops) = try PluginSettings.all(
            { try found.get() }, { try Self.aggregators(try settings.texts("series")) },
            { try Self.zone(try settings.text("day_zone"), settings["zone"]?.string) },
            {
                try PluginSettings.each(try settings.texts("day_starts")) { text in
                    let parts = text.split(separator: "=", maxSplits: 1)
                    return (String(parts[0]), try Self.minutes(String(parts[1]), "day_starts"))
                }
            },
            {
                try PluginSettings.each(try settings.texts("sources")) { text in
                    let choice = try Self.choice(text, "sources", among: known) { value in
                        let parts = value.split(separator: "/", maxSplits: 1).map(String.init)
                        return SourceChoice(plugin: parts.first ?? "", device: parts.count > 1 ? parts[1] : nil)
                    }
                    try Self.checkSum(choice.type, known)
                    return choice
                }
            },
            {
                try PluginSettings.each(try settings.texts("stop_carrying")) { text in
                    try Self.choice(text, "stop_carrying", among: known) { LocalDate($0) }
                }
            })
        dayStarts = Dictionary(starts, uniquingKeysWith: { _, last in last })
    }

    private static func aggregators(_ names: [String]) throws -> [Aggregator] {
        let aggregators = names.compactMap(Aggregator.init(rawValue:))
        guard !aggregators.isEmpty, Set(aggregators).count == aggregators.count else {
            throw PluginFailure(.settings, "setting series: expected at least one, and each once")
        }
        return aggregators
    }

    private static func zone(_ way: String, _ name: String?) throws -> Zone {
        switch (way, name) {
        case ("fixed", let name?): return .fixed(name)
        case ("fixed", nil): throw PluginFailure(.settings, "setting zone: day_zone = \"fixed\" needs one")
        case (_, .some):
            throw PluginFailure(
                .settings, "setting zone: it counts only with day_zone = \"fixed\"; remove it, or set that")
        case ("current", nil): return .current
        default: return .sample
        }
    }

    private static func checkSum(_ type: TypeID, _ types: [DayType]?) throws {
        guard types?.contains(where: { $0.type.id == type && $0.treatment.isSum }) == true else { return }
        throw PluginFailure(
            .settings,
            "setting sources: \(type) is summed over all sources; a table [priority.NAME] of hub.conf says which counts first"
        )
    }

    private static func types(_ names: [String]) throws -> [DayType] {
        guard !names.isEmpty else { throw PluginFailure(.settings, "setting types: expected at least one type") }
        let types = try PluginSettings.each(names) { name in
            guard let type = TypeRegistry.standard.resolve(name) else { throw PluginSettings.unknownType(name) }
            do throws(DayValueError) {
                return DayType(type: type, treatment: try DayTreatment.of(type))
            } catch {
                throw PluginFailure(.settings, "setting types: \(error)")
            }
        }
        return types.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private static func minutes(_ text: String, _ setting: String) throws -> Int {
        let parts = text.split(separator: ":").compactMap { Int($0) }
        guard parts.count == 2 else {
            throw PluginFailure(.settings, "setting \(setting): expected a time such as 04:00")
        }
        return parts[0] * 60 + parts[1]
    }

    private static func choice<Value: Hashable & Sendable>(
        _ text: String, _ setting: String, among types: [DayType]?, _ read: (String) -> Value?
    ) throws -> Choice<Value> {
        let sides = text.split(separator: "=", maxSplits: 1).map(String.init)
        let names = sides[0].split(separator: ":").map(String.init)
        guard sides.count == 2, let name = names.last, let type = TypeRegistry.standard.resolve(name)?.id,
            let value = read(sides[1])
        else {
            throw PluginFailure(.settings, "setting \(setting): \"\(text)\" names no type, or its value is not valid")
        }
        guard types?.contains(where: { $0.type.id == type }) != false else {
            throw PluginFailure(.settings, "setting \(setting): \(type) is not among types")
        }
        return Choice(person: names.count > 1 ? names[0] : nil, type: type, value: value)
    }
}

extension FillerSettings {
    /// The rules for the series of a type, without those that depend on the person.
    func rules(of type: DayType) -> [SeriesRules] {
        switch type.treatment {
        case .summed: [SeriesRules(.sum)]
        case .averaged(let plausible):
            aggregators.map { SeriesRules($0, days: 1, mirrorTolerance: plausible.mirrorTolerance) }
        case .weighted(let plausible):
            // No mirror tolerance: the same beat recorded twice does not change a weighted mean.
            aggregators.map { aggregator in
                aggregator == .mean
                    ? SeriesRules(.weightedMean, days: 1)
                    : SeriesRules(aggregator, days: 1, mirrorTolerance: plausible.mirrorTolerance)
            }
        case .carried(let plausible):
            aggregators.map { SeriesRules($0, days: carryDays, mirrorTolerance: plausible.mirrorTolerance) }
        }
    }

    /// Whether the settings produce a series for a type.
    func makes(_ series: String, of type: TypeID) -> Bool {
        types.contains { entry in entry.type.id == type && rules(of: entry).contains { $0.name == series } }
    }

    /// The calendar of a person; nil if the machine does not know the zone.
    func calendar(of person: String, zone personZone: String) -> DayCalendar? {
        let start = dayStarts[person] ?? dayStart
        return switch zone {
        case .sample: DayCalendar(.sample, zone: personZone, dayStartMinutes: start)
        case .fixed(let zone): DayCalendar(.fixed, zone: zone, dayStartMinutes: start)
        case .current: DayCalendar(.fixed, zone: personZone, dayStartMinutes: start)
        }
    }

    /// The values for a person and a type: the person's choices if there are any, otherwise those for all.
    static func chosen<Value>(_ choices: [Choice<Value>], _ person: String, _ type: TypeID) -> [Value] {
        let own = choices.filter { $0.type == type && $0.person == person }
        return (own.isEmpty ? choices.filter { $0.type == type && $0.person == nil } : own).map(\.value)
    }

    /// Replaces the names of persons with the hub's spelling.
    func named(as persons: [Welcome.PersonEntry]) -> Self {
        func name(_ typed: String) -> String { persons.named(typed)?.name ?? typed }
        var named = self
        named.dayStarts = Dictionary(dayStarts.map { (name($0), $1) }) { first, _ in first }
        for place in sources.indices { named.sources[place].person = sources[place].person.map(name) }
        for place in stops.indices { named.stops[place].person = stops[place].person.map(name) }
        return named
    }

    /// The persons in the settings.
    var persons: Set<String> {
        Set(dayStarts.keys).union(sources.compactMap(\.person)).union(stops.compactMap(\.person))
    }

    /// Sentences for `--check` that describe the days.
    var summary: String {
        let made = types.map { type in
            "\(type.type.id) (\(rules(of: type).map(\.name).joined(separator: ", ")))"
        }
        let date =
            switch zone {
            case .sample: "the place of measurement"
            case .fixed(let zone): zone
            case .current: "the person's present zone"
            }
        return "It would make \(made.joined(separator: ", ")) for each of its persons, by the date of \(date)."
    }
}
