import HealthExports
import PluginKit

/// The validated settings of one instance.
struct FileSettings: Sendable {
    enum Format: String, CaseIterable, Sendable {
        case jsonLines = "json-lines"
        case csv
        case fhirLines = "fhir-lines"

        var suffix: String {
            switch self {
            case .jsonLines: "jsonl"
            case .csv: "csv"
            case .fhirLines: "ndjson"
            }
        }

        /// For `--check`.
        fileprivate func summary(_ columns: Int) -> String {
            switch self {
            case .jsonLines: "JSON Lines"
            case .csv: "CSV with \(columns) columns"
            case .fhirLines: "Observations of FHIR R4"
            }
        }
    }

    /// When a new file begins, in addition to `max_size`.
    enum Rotation: String, CaseIterable, Sendable {
        case never, month, day

        /// The part of a file's name that gives the period of its beginning, by UTC; empty for `never`.
        func period(at time: Timestamp) -> String {
            let day = time.text.prefix(10)
            return switch self {
            case .never: ""
            case .month: String(day.prefix(7))
            case .day: String(day)
            }
        }
    }

    /// The directory; created if it is missing.
    var path: String
    var format: Format
    var rotation: Rotation
    /// In bytes.
    var maximumSize: Int64
    var columns: [CSVColumn]
    var types: [String]?
    var kinds: [Want.Kind]?
    var start: Want.Start

    static let declarations: [SettingDeclaration] = [
        SettingDeclaration(
            "path", .path, help: "The directory of the files; made with mode 0700 if it is missing.", required: true,
            access: .folder),
        SettingDeclaration(
            "format", .choice(Format.allCases.map(\.rawValue)),
            help:
                "json-lines writes each record exactly as the hub has it; csv the columns below; fhir-lines an Observation of FHIR R4.",
            default: .string(Format.jsonLines.rawValue)),
        SettingDeclaration(
            "rotate", .choice(Rotation.allCases.map(\.rawValue)),
            help: "When a new file begins, by the time of delivery in UTC.", default: .string(Rotation.month.rawValue)),
        SettingDeclaration(
            "max_size", .size(Bounds(ByteSize(bytes: 1 << 10), nil)),
            help: "A file of this size gets no further lines, and a new one begins.",
            default: .string("64MiB")),
        SettingDeclaration(
            "columns", .list(of: .choice(CSVColumn.allCases.map(\.rawValue))),
            help: "The columns of csv, in their order.",
            default: .list(CSVColumn.usual.map { .string($0.rawValue) })),
        SettingDeclaration(
            "types", .list(of: .string(TextRule(example: "weight"))),
            help: "Only records of these types; all that grants allow if it is not set."),
        SettingDeclaration(
            "kinds", .list(of: .choice(Want.Kind.allCases.map(\.rawValue))),
            help: "Only records of these kinds; all if it is not set, the gap-filler's days among them."),
        SettingDeclaration(
            "start", .choice(["beginning", "now"]),
            help: "Whether the first start writes all records of the hub, or only those that come later.",
            default: .string("beginning")),
    ]

    /// - Throws: ``PluginFailure`` that names the invalid setting.
    init(_ settings: PluginSettings) throws {
        path = try settings.text("path")
        format = try Self.choice("format", settings)
        rotation = try Self.choice("rotate", settings)
        maximumSize = try settings.size("max_size").bytes
        columns = try settings.texts("columns").compactMap(CSVColumn.init(rawValue:))
        types = try settings["types"]?.strings.map { try PluginSettings.each($0, Self.type) }?
            .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        kinds = settings["kinds"]?.strings?.compactMap(Want.Kind.init(rawValue:))
        start = try settings.text("start") == "now" ? .now : .beginning
        if format == .csv, columns.isEmpty {
            throw PluginFailure(.settings, "setting columns: expected at least one column for csv")
        }
    }

    /// The id of a type; an unknown vendor or HealthKit id is accepted unchanged.
    private static func type(_ name: String) throws -> String {
        if let known = TypeRegistry.standard.resolve(name) { return known.id.rawValue }
        if let id = try? TypeID(name), [.vendor, .healthKitIdentifier].contains(id.form) { return name }
        throw PluginSettings.unknownType(name)
    }

    private static func choice<Choice: RawRepresentable<String>>(
        _ name: String, _ settings: PluginSettings
    ) throws -> Choice {
        guard let choice = Choice(rawValue: try settings.text(name)) else {
            throw PluginFailure(.settings, "setting \(name): expected one of its choices")
        }
        return choice
    }

    /// Identifies the form of the lines; for CSV, the header line.
    var header: String {
        switch format {
        case .jsonLines: ""
        case .csv: CSVColumn.header(columns)
        case .fhirLines: Format.fhirLines.rawValue
        }
    }

    /// Sentences for `--check` that describe the files.
    var summary: String {
        let what = types.map { $0.joined(separator: ", ") } ?? "every type that grants allow"
        let which = kinds.map { " of the kinds \($0.map(\.rawValue).joined(separator: ", "))" } ?? ""
        let form = format.summary(columns.count)
        let turn = rotation == .never ? "" : ", a new file each \(rotation.rawValue)"
        return "It would write \(what)\(which) as \(form), files of up to \(maximumSize) bytes\(turn)."
    }
}
