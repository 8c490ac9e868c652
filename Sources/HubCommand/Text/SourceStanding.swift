import HubWire
import Samples

/// Why a source counts before another in what is added up.
struct SourceStanding {
    private let orders: [String: [Welcome.SourceOrder]]

    /// - Parameter persons: as WELCOME tells them.
    init(_ persons: [Welcome.PersonEntry]) {
        orders = Dictionary(persons.map { ($0.name, $0.priority) }) { first, _ in first }
    }

    static func name(_ tally: SourceTally) -> String {
        [tally.source.plugin, tally.source.device, tally.source.account].compactMap(\.self).joined(separator: "/")
    }

    /// By what it has its place.
    func reason(_ tally: SourceTally) -> String {
        let order = tally.person.flatMap { orders[$0] }?.first { $0.types?.contains(tally.type) ?? true }?.sources ?? []
        let source = Source(
            plugin: tally.source.plugin, device: tally.source.device, account: tally.source.account)
        let named = source.device.map { "\(source.plugin)/\($0)" }
        if order.contains(where: { $0 == named || $0 == source.plugin }) { return "hub.conf" }
        if source.isOfSums { return "sums of spans" }
        return source.plugin == Source.byHand ? "by hand" : "first record"
    }

    /// What `hub trace` says of a record that is added up: whether others count instead of it.
    ///
    /// - Parameter sources: of its person and type that have something in its span, itself among them.
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
        let better = others[..<place].map { "\(SourceStanding.name($0)) (\(reason($0)))" }.joined(separator: ", ")
        return "in sums    \(own): what \(better) has of its time counts instead"
    }
}
