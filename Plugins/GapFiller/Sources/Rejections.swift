import PluginKit

/// Days that the hub has rejected; they are retried and reported.
struct Rejections: Sendable {
    private struct Entry {
        var record: Record
        var date: LocalDate
        var code: String
        var reason: String
    }

    /// The days rejected with one code.
    struct Kind: Encodable, Hashable, Sendable {
        /// One of the codes of Protocol §9.2.
        var code: String
        /// The reason for the earliest of these days.
        var reason: String
        var days: Int
    }

    private var entries: [RecordIdentity: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    /// The records to store again.
    var records: [Record] { entries.values.sorted { $0.date < $1.date }.map(\.record) }

    /// By code.
    var kinds: [Kind] {
        Dictionary(grouping: entries.values, by: \.code).sorted { $0.key < $1.key }.map { code, entries in
            let reason = entries.min { ($0.date, $0.reason) < ($1.date, $1.reason) }?.reason
            return Kind(code: code, reason: reason ?? code, days: entries.count)
        }
    }

    /// Whether it contains a day of this series.
    func concern(_ name: SeriesName) -> Bool {
        entries.keys.contains { identity in
            guard case .day(let person, let type, let series, _) = identity else { return false }
            return SeriesName(person: person, type: type, series: series) == name
        }
    }

    /// Notes the hub's results for records.
    mutating func note(_ records: [Record], _ results: [RecordResult]) {
        for (record, result) in zip(records, results) {
            entries[record.identity] = nil
            // A retraction of a day that was never stored or is already gone needs no retry.
            guard case .rejected(let code, let reason) = result, code != .unknown,
                case .day(_, _, _, let date) = record.identity
            else { continue }
            entries[record.identity] = Entry(record: record, date: date, code: "\(code)", reason: reason)
        }
    }
}
