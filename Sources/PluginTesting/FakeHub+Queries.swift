import HubSessions
import HubWire
import Samples

extension FakeHub {
    func answerQueries() {
        let open = openQueries
        openQueries = []
        for (peer, queries) in Dictionary(grouping: open, by: \.peer) where queries.count > behaviour.limits.queries {
            violations.append("R8.4: \(queries.count) queries of \(peer) are open")
        }
        for (query, peer) in open where sessions[peer] != nil { answer(query, peer) }
    }

    /// Answers from what it holds, all of it of one person, by types, `since` and the mark of a page.
    private func answer(_ query: QueryRequest, _ peer: [UInt8]) {
        queries.append(query)
        if query.want == .statistics, let page = behaviour.statistics.first {
            if behaviour.statistics.count > 1 { behaviour.statistics.removeFirst() }
            return send(.result(QueryResult(id: query.id, content: .answer(.statistics, page))), to: peer)
        }
        guard query.want == .records else {
            return send(.error(WireError(.forbidden, "this is the owner's to ask", ref: query.id)), to: peer)
        }
        if let name = query.filter.types?.first(where: { registry.resolve($0) == nil }) {
            return send(.error(WireError(.field, "QUERY.types: no type \"\(name)\"", ref: query.id)), to: peer)
        }
        if query.filter.kinds == [.day] { return answerDays(query, peer) }
        let start = query.next.flatMap { Int64($0) } ?? query.since?.sequence ?? 0
        let types = query.filter.types
        var (records, last, next): (RawRecords, Int64, String?) = (RawRecords(), start, nil)
        for held in held where held.number > start {
            guard case .sample(let sample) = held.record, types?.contains(sample.type.rawValue) ?? true else {
                continue
            }
            guard records.count < behaviour.limits.pageRecords else {
                next = String(last)
                break
            }
            let stored = StoredRecord(
                record: held.record, number: held.number, sequence: held.number,
                assignment: .person(Person(uid: "6f1c2a9e5b7d4c30", name: "me")), type: sample.type)
            records.append { RecordEncoder.append(stored, to: &$0) }
            last = held.number
        }
        let cursor = Cursor(epoch: behaviour.epoch, sequence: next == nil ? Int64(self.held.count) : last)
        send(.result(QueryResult(id: query.id, content: .records(records, next: next, cursor: cursor))), to: peer)
    }
}
