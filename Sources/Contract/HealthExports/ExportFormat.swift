/// The formats in which the hub exports records for other programs (Docs/Exports.md).
public enum ExportFormat: String, CaseIterable, Sendable {
    case jsonLines = "json-lines"
    case csv
    case sqlite
    case fhir
    case fhirLines = "fhir-lines"
    case openMHealth = "open-mhealth"
    case ieee1752 = "ieee-1752"
    case gpx
    case appleXML = "apple-xml"

    /// The file name suffixes by which a format is recognised.
    ///
    /// Plain `.json` is not among them because several formats write it.
    public var suffixes: [String] {
        switch self {
        case .jsonLines: ["jsonl"]
        case .csv: ["csv"]
        case .sqlite: ["sqlite", "sqlite3", "db"]
        case .fhir: ["fhir.json", "bundle.json"]
        case .fhirLines: ["fhir.ndjson", "ndjson"]
        case .openMHealth: ["omh.jsonl"]
        case .ieee1752: ["ieee.jsonl"]
        case .gpx: ["gpx"]
        case .appleXML: ["xml"]
        }
    }

    /// Creates the format that belongs to the suffix of a file name; `nil` if there is none.
    public init?(nameOf path: String) {
        let name = path.lowercased()
        let named = ExportFormat.allCases.flatMap { format in format.suffixes.map { (format, "." + $0) } }
        guard let best = named.filter({ name.hasSuffix($0.1) }).max(by: { $0.1.utf8.count < $1.1.utf8.count }) else {
            return nil
        }
        self = best.0
    }

    /// Whether a correlation is written as one object with its members, such as the two values of a blood pressure.
    public var joinsCorrelations: Bool { [.fhir, .fhirLines, .openMHealth, .ieee1752, .appleXML].contains(self) }

    /// Whether the format can mark a value as the value of a day, and mark estimated values.
    public var takesDays: Bool { [.jsonLines, .csv, .sqlite].contains(self) }
}
