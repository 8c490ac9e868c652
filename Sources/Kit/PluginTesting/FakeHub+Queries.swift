import Foundation
import HubWire
public import Samples

/// Answers questions.
extension FakeHub {
    func answerQueries() {
        let open = openQueries
        openQueries = []
        for (peer, queries) in Dictionary(grouping: open, by: \.peer) where queries.count > behaviour.limits.queries {
            violations.append("R8.4: \(queries.count) queries of \(peer) are open")
        }
        for (query, peer) in open where sessions[peer] != nil { answer(query, peer) }
    }

    /// The person to whom all records of the fake hub belong.
    static let owner = Person(uid: "6f1c2a9e5b7d4c30", name: "me")

    /// Answers from the held records, all of which belong to one person.
    private func answer(_ query: QueryRequest, _ peer: [UInt8]) {
        queries.append(query)
        if query.want == .statistics, let page = behaviour.statistics.first {
            if behaviour.statistics.count > 1 { behaviour.statistics.removeFirst() }
            return send(.result(QueryResult(id: query.id, content: .answer(.statistics, page))), to: peer)
        }
        if query.want.isOfOwner { return send(ownersAnswer(query), to: peer) }
        if let since = query.since, since.epoch != behaviour.epoch || since.sequence > head {
            let error = WireError(
                .epoch, "QUERY.since: this store counts otherwise", ref: query.id, epoch: behaviour.epoch)
            return send(.error(error), to: peer)
        }
        guard query.want == .records || query.want == .sources else {
            return send(
                .error(WireError(.query, "the test has no answer about \(query.want.rawValue)", ref: query.id)),
                to: peer)
        }
        if query.filter.kinds == [.day], query.want == .records { return answerDays(query, peer) }
        do throws(WireError) {
            let found = try matches(query.filter, since: query.since?.sequence)
            if query.want == .sources {
                let page = SourcesPage(sources: tallies(found), next: nil)
                let text = (try? JSONEncoder().encode(page)).map(Array.init) ?? []
                send(.result(QueryResult(id: query.id, content: .answer(.sources, RawJSON(trusted: text)))), to: peer)
            } else {
                send(.result(QueryResult(id: query.id, content: try page(query, of: found))), to: peer)
            }
        } catch {
            send(.error(WireError(error.code, error.reason, ref: query.id)), to: peer)
        }
    }

    private func ownersAnswer(_ query: QueryRequest) -> HubMessage {
        let word = query.want.rawValue
        guard behaviour.grants.owner.contains(word) else {
            let reason = "QUERY.want: \"\(word)\" is the owner's, and grants.owner of WELCOME does not have it"
            return .error(WireError(.forbidden, reason, ref: query.id))
        }
        guard let answer = behaviour.ownersAnswers[query.want] else {
            return .error(WireError(.query, "the test has no answer to \(word)", ref: query.id))
        }
        return .result(QueryResult(id: query.id, content: .answer(query.want, answer)))
    }

    /// The samples that a filter selects, in the order of the sequence.
    ///
    /// - Parameter since: if set, the result includes samples that changed after it and were retracted or do not match now (R8.131).
    private func matches(
        _ filter: QueryRequest.Filter, since: Int64?
    ) throws(WireError) -> [HeldSample] {
        func types(_ names: [String]) throws(WireError) -> Set<TypeID> {
            var types: Set<TypeID> = []
            for name in names {
                guard let type = registry.resolve(name) else {
                    throw WireError(.field, "QUERY.types: no type \"\(name)\"")
                }
                types.insert(type.id)
            }
            return types
        }
        let asked = try filter.types.map(types)
        if let name = filter.persons?.first(where: { $0 != Self.owner.name }) {
            throw WireError(.field, "QUERY.persons: no person \"\(name)\"")
        }
        if filter.isOfNoPerson || filter.isGuest == true || filter.isImplausible { return [] }
        let kinds = KindSelection(filter.kinds.map(Set.init), followsChanges: since != nil)
        let before = kept.records.compactMap { HeldSample($0) }
        let samples = (before + held.compactMap { HeldSample($0) }).sorted { $0.sequence < $1.sequence }
        let judge = try filter.condition.map { condition throws(WireError) in
            try SampleMatcher(condition, among: samples.filter { $0.retraction == nil }, registry)
        }
        return samples.compactMap { held in
            let sample = held.sample
            func has(_ kinds: Set<RecordKind>) -> Bool { kinds.contains { $0.rawValue == sample.value.kind.rawValue } }
            guard held.sequence > since ?? 0, asked?.contains(sample.type) ?? true,
                filter.sources?.contains(sample.source.plugin) ?? true, filter.numbers?.contains(held.number) ?? true
            else { return nil }
            if held.retraction != nil { return has(kinds.takenBack) ? held : nil }
            guard has(kinds.standing) else { return nil }
            if filter.group.map({ $0 == sample.group }) ?? true, sample.lies(filter.from, filter.to, filter.strict),
                judge?.isMet(by: held) ?? true
            {
                return held
            }
            // No follower has seen a sample that was first stored after the cursor.
            return since != nil && held.sequence != held.number ? held.ceased : nil
        }
    }

    private func page(_ query: QueryRequest, of found: [HeldSample]) throws(WireError) -> QueryResult.Content {
        var found = found
        if query.isLatest {
            let latest = Dictionary(grouping: found, by: \.sample.type).values.compactMap { samples in
                samples.max { ($0.end, $0.number) < ($1.end, $1.number) }?.number
            }
            found = found.filter { latest.contains($0.number) }
        }
        var isInOrder = true
        if case .by(let keys)? = query.order {
            isInOrder = false
            found.sort { left, right in
                for key in keys where left.time(key) != right.time(key) {
                    return key.isDown ? left.time(key) > right.time(key) : left.time(key) < right.time(key)
                }
                return keys[0].isDown ? left.number > right.number : left.number < right.number
            }
        }
        // `<records that may still come, or ->:<number of the last>`
        let mark = query.next?.split(separator: ":").map { Int64($0) } ?? [query.limit, nil]
        guard mark.count == 2, query.next == nil || mark[1] != nil else {
            throw WireError(.cursor, "QUERY.next: not the mark of a page of this query")
        }
        if let last = mark[1], let place = found.firstIndex(where: { $0.number == last }) {
            found.removeFirst(place + 1)
        }
        let most = min(behaviour.limits.pageRecords, Int(clamping: mark[0] ?? .max))
        var records = RawRecords()
        for held in found.prefix(most) {
            let stored = held.stored(of: Self.owner)
            records.append { RecordEncoder.append(stored, to: &$0) }
        }
        let left = mark[0].map { $0 - Int64(records.count) }
        let last = found.prefix(most).last
        let isOver = found.count <= most || left == 0
        let reached = last?.sequence ?? query.since?.sequence ?? 0
        let place = isOver && found.count <= most || !isInOrder || query.isLatest ? head : reached
        let cursor = isInOrder && !query.isLatest || isOver ? Cursor(epoch: behaviour.epoch, sequence: place) : nil
        return .records(
            records, next: isOver ? nil : "\(left.map { "\($0)" } ?? "-"):\(last?.number ?? 0)", cursor: cursor)
    }

    /// Counts the records of each source; for each type the highest-ranked source is first: by ``Behaviour/persons``, else the one held first.
    private func tallies(_ found: [HeldSample]) -> [SourceTally] {
        let priority = behaviour.persons.first { $0.name == Self.owner.name }?.priority ?? []
        let groups = Dictionary(grouping: found) { $0.sample.type }.values.flatMap { samples in
            Dictionary(grouping: samples) { $0.sample.source }.values
        }
        return groups.compactMap { samples in
            guard let first = samples.first?.sample, let begin = samples.map(\.start).min(),
                let end = samples.map(\.end).max(),
                let number = held.first(where: { HeldSample($0)?.sample.source == first.source })?.number
            else { return nil }
            let type = first.type.rawValue
            let order = priority.first { $0.types?.contains(type) ?? true }?.sources ?? []
            return SourceTally(
                type: type, person: Self.owner.name, personId: Self.owner.uid,
                source: .init(
                    plugin: first.source.plugin, device: first.source.device, account: first.source.account),
                count: Int64(samples.count), first: Timestamp(microseconds: begin).text,
                last: Timestamp(microseconds: end).text,
                rank: SourceRank(order).rank(of: first.source, number: number))
        }.sorted { ($0.type, $0.rank ?? 0) < ($1.type, $1.rank ?? 0) }
    }

    // MARK: - Day values

    /// Adds day values, or their retractions, as if the gap-filler had stored them now; a known day gets a new version.
    ///
    /// - Returns: the stored records, as ``deliver(_:to:)-([StoredRecord],_)`` takes them.
    @discardableResult
    public func hold(
        days records: [Record], of person: Person = Person(uid: "6f1c2a9e5b7d4c30", name: "me")
    ) -> [StoredRecord] {
        records.map { record in
            lastDay += 1
            let number = days.first { $0.record.identity == record.identity }?.number ?? lastDay
            days.removeAll { $0.record.identity == record.identity }
            var type = TypeID.weight
            if case .day(_, let known, _, _) = record.identity { type = known }
            let stored = StoredRecord(
                record: record, number: number, sequence: lastDay, assignment: .person(person), type: type)
            days.append(stored)
            return stored
        }
    }

    /// Answers a query for days from the records added with `hold`, in one page.
    func answerDays(_ query: QueryRequest, _ peer: [UInt8]) {
        let start = query.since?.sequence
        var records = RawRecords()
        for stored in days where stored.sequence > start ?? 0 {
            if case .retraction = stored.record, start == nil { continue }
            guard query.filter.types?.contains(stored.type.rawValue) ?? true else { continue }
            records.append { RecordEncoder.append(stored, to: &$0) }
        }
        let cursor = Cursor(epoch: behaviour.epoch, sequence: lastDay)
        send(.result(QueryResult(id: query.id, content: .records(records, next: nil, cursor: cursor))), to: peer)
    }
}
