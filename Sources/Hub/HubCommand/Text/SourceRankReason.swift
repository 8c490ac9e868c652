import HubWire
import Samples

/// The reason why a source counts before another in sums.
struct SourceRankReason {
    private let orders: [String: [Welcome.SourceOrder]]

    /// - Parameter persons: the persons of WELCOME.
    init(_ persons: [Welcome.PersonEntry]) {
        orders = Dictionary(persons.map { ($0.name, $0.priority) }) { first, _ in first }
    }

    static func name(_ tally: SourceTally) -> String {
        [tally.source.plugin, tally.source.device, tally.source.account].compactMap(\.self).joined(separator: "/")
    }

    /// The reason for its rank.
    func reason(_ tally: SourceTally) -> String {
        let order = tally.person.flatMap { orders[$0] }?.first { $0.types?.contains(tally.type) ?? true }?.sources ?? []
        let source = Source(plugin: tally.source.plugin, device: tally.source.device, account: tally.source.account)
        let named = source.device.map { "\(source.plugin)/\($0)" }
        if order.contains(where: { $0 == named || $0 == source.plugin }) { return "hub.conf" }
        if source.isSumAccount { return "sums of spans" }
        return source.plugin == Source.byHand ? "by hand" : "first record"
    }

    /// The line of `hub trace` for a record with mirrors: the one that counts, and the reason.
    ///
    /// - Parameters:
    ///   - mirrors: the other records.
    ///   - sources: the sources of its person and type that have a record at its start, including those of the mirrors.
    func line(of stored: StoredRecord, mirrors: [StoredRecord], among sources: [SourceTally]) -> String? {
        func tally(_ record: StoredRecord) -> SourceTally? {
            let source = record.record.source
            return sources.first {
                $0.source.plugin == source.plugin && $0.source.device == source.device
                    && $0.source.account == source.account && $0.rank != nil
            }
        }
        let all = ([stored] + mirrors).compactMap { record in tally(record).map { (record: record, tally: $0) } }
        guard
            let best = all.min(by: { ($0.tally.rank ?? 0, $0.record.number) < ($1.tally.rank ?? 0, $1.record.number) })
        else { return nil }
        if best.record.number != stored.number {
            let source = SourceRankReason.name(best.tally)
            return
                "counts     no: the same event as \(best.record.number) by \(source), which comes first (\(reason(best.tally)))"
        }
        let others = mirrors.map { String($0.number) }.joined(separator: ", ")
        let source = SourceRankReason.name(best.tally)
        return
            "counts     yes: \(others) \(mirrors.count == 1 ? "is" : "are") the same event, but \(source) comes first (\(reason(best.tally)))"
    }

    /// The line of `hub trace` for a record that is added up: whether other sources count instead of it.
    ///
    /// - Parameter sources: the sources of its person and type that have a record in its span, including its own.
    func line(of source: Source, among sources: [SourceTally]) -> String? {
        let others = sources.filter { $0.rank != nil }.sorted { ($0.rank ?? 0) < ($1.rank ?? 0) }
        guard
            let place = others.firstIndex(where: {
                $0.source.plugin == source.plugin && $0.source.device == source.device
                    && $0.source.account == source.account
            })
        else { return nil }
        guard others.count > 1 else { return "in sums    it counts: no other source has anything of its time" }
        let own = "source \(place + 1) of \(others.count) (\(reason(others[place])))"
        guard place > 0 else { return "in sums    it counts before all others of its time: \(own)" }
        let better = others[..<place].map { "\(SourceRankReason.name($0)) (\(reason($0)))" }.joined(separator: ", ")
        return "in sums    \(own): the records of \(better) at its time count instead"
    }
}
