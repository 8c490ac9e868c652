import GRDB
import Samples

/// Finds the records that a replay would open again, a page at a time.
struct ReplayReader {
    private let reader: SnapshotReader
    private let sink: SinkRecord
    private let rule: OfferRule
    private let offered: Int64

    init(_ reader: SnapshotReader, _ sink: SinkRecord, offered: Int64, now: Int64) {
        (self.reader, self.sink, self.offered) = (reader, sink, offered)
        rule = OfferRule(terms: sink.terms, now: now, since: nil)
    }

    /// The records of a page that are not open and that the sink can take, and the start of the next page.
    func candidates(_ query: RecordQuery) throws -> (records: [(number: Int64, sequence: Int64)], next: String?) {
        let page = try reader.page(query)
        let records = try page.records.filter { stored in
            guard let current = try VersionLookup.current(stored.number, in: reader.db),
                current.sequence == stored.sequence,
                let row = try sink.replay(of: stored.number, current, in: reader.db)
            else { return false }
            if current.isRetraction != stored.isRetraction { return false }
            return try rule.skip(stored, row, wantsPuts: sink.match.wants(current.kind)) {
                try VersionLookup.mayHold(stored.number, row, sink, offered: offered, in: reader.db)
            } == nil
        }
        return (records.map { ($0.number, $0.sequence) }, page.next)
    }
}

extension StoredRecord {
    fileprivate var isRetraction: Bool { if case .retraction = record { true } else { false } }
}
