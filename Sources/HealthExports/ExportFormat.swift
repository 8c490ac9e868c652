/// The forms in which records leave the hub for programs of others (Docs/Exports.md).
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

    /// The end of a file's name, by which a format is recognised; `json` is what several write.
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

    /// The format that a file's name says; `nil` where it says none.
    public init?(nameOf path: String) {
        let name = path.lowercased()
        let named = ExportFormat.allCases.flatMap { format in format.suffixes.map { (format, "." + $0) } }
        guard let best = named.filter({ name.hasSuffix($0.1) }).max(by: { $0.1.utf8.count < $1.1.utf8.count }) else {
            return nil
        }
        self = best.0
    }

    /// Whether the members of a correlation, such as the two values of a blood pressure, are written in one piece with it.
    public var joinsCorrelations: Bool { [.fhir, .fhirLines, .openMHealth, .ieee1752, .appleXML].contains(self) }

    /// Whether it can say that a value is the one of a day, and which of them are guesses.
    public var takesDays: Bool { [.jsonLines, .csv, .sqlite].contains(self) }
}
