/// The forms in which records leave the hub for programs of others (Docs/Exports.md).
public enum ExportFormat: String, CaseIterable, Sendable {
    case jsonLines = "json-lines"
    case csv

    /// The end of a file's name, by which a format is recognised; `json` is what several write.
    public var suffixes: [String] {
        switch self {
        case .jsonLines: ["jsonl"]
        case .csv: ["csv"]
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
}
