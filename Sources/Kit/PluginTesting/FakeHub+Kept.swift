import HubWire
public import Samples

extension FakeHub {
    /// The records stored before the plugin came, and the progress of each subscription through them.
    struct Kept {
        var records: [StoredRecord] = []
        /// By subscription: how many of ``records`` it has answered, or does not request.
        var places: [String: Int] = [:]
        /// By subscription: the open delivery, and the number of ``records`` covered once it is answered.
        var open: [String: (delivery: Int64, place: Int)] = [:]
    }

    /// Adds records from before the plugin came: each subscription receives those that it requests, in this order, once.
    public func keep(
        _ records: [Record], of person: Person = Person(uid: "6f1c2a9e5b7d4c30", name: "me")
    ) {
        for record in records {
            let type: TypeID
            switch record {
            case .sample(let sample): type = sample.type
            case .day(let day): type = day.type
            case .retraction: continue
            }
            head += 1
            kept.records.append(
                StoredRecord(
                    record: record, number: head, sequence: head, assignment: .person(person), type: type))
        }
    }

    /// Delivers the next kept records, unless a delivery is open or the credit does not cover it.
    func deliverKept(to want: String) {
        guard kept.open[want] == nil, let request = subscriptions[want]?.request else { return }
        var place = kept.places[want] ?? 0
        var batch: [StoredRecord] = []
        while place < kept.records.count, batch.count < request.batch ?? behaviour.limits.batchRecords {
            if request.asks(for: kept.records[place]) { batch.append(kept.records[place]) }
            place += 1
        }
        guard !batch.isEmpty else { return }
        guard let number = deliver(batch, to: want) else { return }
        kept.open[want] = (deliveries[number].number, place)
    }

    /// Delivers unanswered records again, because a new session has requested the subscription.
    func beginKept(to want: String) {
        kept.open[want] = nil
        deliverKept(to: want)
    }

    func settleKept(_ report: DeliveryReport) {
        guard let open = kept.open[report.want], open.delivery == report.delivery else { return }
        (kept.open[report.want], kept.places[report.want]) = (nil, open.place)
        deliverKept(to: report.want)
    }
}

extension WantRequest {
    fileprivate func asks(for stored: StoredRecord) -> Bool {
        guard types?.contains(where: { TypeRegistry.standard.resolve($0)?.id == stored.type }) ?? true else {
            return false
        }
        let kind: RecordKind? =
            switch stored.record {
            case .sample: TypeRegistry.standard.type(stored.type).flatMap { RecordKind(rawValue: $0.kind.rawValue) }
            case .day: .day
            case .retraction: nil
            }
        return kind.map(selection.standing.contains) ?? false
    }
}
