import JSON
public import Samples

/// A column of CSV, as `hub export` and the sink of line files write it.
public enum CSVColumn: String, CaseIterable, Sendable {
    case seq, number, kind, type, person, value, unit, raw, start, end, date, zone, plugin, device, account, key, group
    case series, method, provenance, reason, metadata
    case personID = "person_id"
    case originalValue = "original_value"
    case originalUnit = "original_unit"

    public static let usual: [CSVColumn] = [
        .seq, .number, .kind, .type, .person, .value, .unit, .start, .end, .date, .plugin, .device, .key,
    ]

    /// The columns of `hub export`, including the original value and its source.
    public static let exported: [CSVColumn] = [
        .kind, .type, .person, .value, .unit, .raw, .start, .end, .date, .zone, .plugin, .device, .account, .key,
        .group, .series, .method, .provenance, .originalValue, .originalUnit, .metadata,
    ]

    /// The header line, with its line feed.
    public static func header(_ columns: [CSVColumn]) -> String {
        columns.map(\.rawValue).joined(separator: ",") + "\n"
    }

    /// The line of a record, with its line feed.
    public static func line(_ record: StoredRecord, _ columns: [CSVColumn]) -> String {
        line(of: columns.map { $0.text(of: record) ?? "" }) + "\n"
    }

    /// A line of arbitrary fields, without its line feed.
    public static func line(of fields: [String]) -> String {
        fields.map { quoted(spreadsheetSafe($0)) }.joined(separator: ",")
    }

    /// The field, escaped so that no spreadsheet interprets it as a formula.
    ///
    /// A field that begins with `=`, `+`, `-`, `@`, a tab or a line break gets an apostrophe before it, unless it is a number. A field that begins
    /// with an apostrophe gets one too, so that readers can restore the original text.
    private static func spreadsheetSafe(_ field: String) -> String {
        guard let first = field.utf8.first, "=+-@\t\r\n'".utf8.contains(first), !isNumber(field) else { return field }
        return "'" + field
    }

    /// Whether the field is a number as the hub writes it: `-72.3`, `1e-7`.
    private static func isNumber(_ field: String) -> Bool {
        field.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) } && Double(field) != nil
            && field.utf8.first != UInt8(ascii: "+")
    }

    /// Quotes a field if RFC 4180 requires it.
    private static func quoted(_ field: String) -> String {
        guard field.utf8.contains(where: { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }) else {
            return field
        }
        return "\"\(field.replacing("\"", with: "\"\""))\""
    }

    /// The field, or `nil` if the record has no value for this column.
    private func text(of stored: StoredRecord) -> String? {
        switch self {
        case .seq: return "\(stored.sequence)"
        case .number: return "\(stored.number)"
        case .type: return stored.type.rawValue
        case .person: return stored.assignment.person?.name
        case .personID: return stored.assignment.person?.uid
        case .plugin: return stored.record.source.plugin
        case .device: return stored.record.source.device
        case .account: return stored.record.source.account
        default: break
        }
        switch stored.record {
        case .sample(let sample): return text(of: sample, stored.canonical)
        case .day(let day): return text(of: day, stored.canonical)
        case .retraction(let retraction): return text(of: retraction)
        }
    }

    private func text(of sample: Sample, _ canonical: StoredRecord.CanonicalValue?) -> String? {
        switch self {
        case .kind: return sample.value.kind.rawValue
        case .start: return sample.start.text
        case .end: return sample.end.text
        case .zone: return sample.zone
        case .key: return sample.key.text
        case .group: return sample.group
        case .provenance: return sample.provenance.word
        case .metadata: return sample.metadata?.text
        default: break
        }
        switch (self, sample.value) {
        case (.value, .quantity(let value, _)): return NumberWriter.text(canonical?.value ?? value)
        case (.unit, .quantity(_, let unit)): return canonical?.unit ?? unit
        case (.originalValue, .quantity(let value, _)): return canonical.map { _ in NumberWriter.text(value) }
        case (.originalUnit, .quantity(_, let unit)): return canonical.map { _ in unit }
        case (.value, .category(let name, _)): return name
        case (.value, .workout(let activity, _)): return activity
        case (.value, .characteristic(let text, _)): return text
        case (.value, .other(let text)): return text
        case (.raw, .category(_, let raw)), (.raw, .workout(_, let raw)): return "\(raw)"
        case (.raw, .characteristic(_, let raw)): return raw.map { "\($0)" }
        default: return nil
        }
    }

    private func text(of day: DayValue, _ canonical: StoredRecord.CanonicalValue?) -> String? {
        switch self {
        case .kind: "day"
        case .value: NumberWriter.text(canonical?.value ?? day.value)
        case .unit: canonical?.unit ?? day.unit
        case .originalValue: canonical.map { _ in NumberWriter.text(day.value) }
        case .originalUnit: canonical.map { _ in day.unit }
        case .date: day.date.text
        case .zone: day.zone
        case .series: day.series
        case .method: day.method
        case .metadata: day.metadata?.text
        default: nil
        }
    }

    private func text(of retraction: Retraction) -> String? {
        switch (self, retraction.identity) {
        case (.kind, _): "retraction"
        case (.reason, _): retraction.reason
        case (.key, .sample(_, let key)): key.text
        case (.series, .day(_, _, let series, _)): series
        case (.date, .day(_, _, _, let date)): date.text
        default: nil
        }
    }
}

extension Provenance {
    /// `measured`, `derived` or `filled`, as in the JSON of a record.
    package var word: String {
        switch self {
        case .measured: "measured"
        case .derived: "derived"
        case .filled: "filled"
        }
    }
}

/// CSV by RFC 4180, with a header.
public struct CSVExport: ExportWriter {
    public private(set) var account = ExportSummary()
    private let columns: [CSVColumn]

    public init(_ columns: [CSVColumn]) { self.columns = columns }

    public mutating func begin(_ output: inout [UInt8]) { output += CSVColumn.header(columns).utf8 }

    public mutating func write(_ item: ExportItem, to output: inout [UInt8]) {
        output += CSVColumn.line(item.record, columns).utf8
        account.written += 1
    }
}
