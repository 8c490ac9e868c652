import HubWire
public import Samples

extension FakeHub {
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
