public import HubWire
public import Samples

/// A delivery of the hub, and the sink's answer.
public struct FakeDelivery: Sendable {
    public var want: String
    /// As JSON, in the hub's form.
    public var records: [String]
    /// `nil` until the sink has answered.
    public var report: DeliveryReport?
    let peer: [UInt8]
    let number: Int64
    let cost: Credit
}

extension FakeHub {
    /// A subscription as its sink last requested it, with the session of that request.
    struct Subscription {
        var request: WantRequest
        var peer: [UInt8]
        var credit: Credit
    }

    /// Delivers records, given as JSON in the hub's canonical form, to the session that last requested `want`.
    ///
    /// - Returns: the position of the delivery in ``deliveries``; `nil` if no session requests `want` or the credit is used up.
    @discardableResult
    public func deliver(_ records: [String], to want: String) -> Int? {
        guard let subscription = subscriptions[want] else { return nil }
        var raw = RawRecords()
        for record in records { raw.append(record.utf8) }
        let number = Int64(deliveries.count + 1)
        let delivery = Delivery(want: want, delivery: number, records: raw)
        guard subscription.credit.covers(delivery.cost) else { return nil }
        subscriptions[want]?.credit = subscription.credit - delivery.cost
        deliveries.append(
            FakeDelivery(
                want: want, records: records, report: nil, peer: subscription.peer, number: number, cost: delivery.cost)
        )
        send(.deliver(delivery), to: subscription.peer)
        return deliveries.count - 1
    }

    /// Delivers stored records.
    @discardableResult
    public func deliver(_ records: [StoredRecord], to want: String) -> Int? {
        deliver(
            records.map { record in
                var bytes: [UInt8] = []
                RecordEncoder.append(record, to: &bytes)
                return String(decoding: bytes, as: UTF8.self)
            }, to: want)
    }

    /// Notifies the sinks of mode `once` that no records are left for them.
    public func reportCaughtUp(pending: Int64 = 0) {
        for (want, subscription) in subscriptions {
            send(.want(answer(want, pending: pending, isCaughtUp: true)), to: subscription.peer)
        }
    }

    /// The subscriptions as sinks last requested them.
    public var wants: [String: WantRequest] { subscriptions.mapValues(\.request) }

    /// Returns when `name` has been requested the given number of times.
    @discardableResult
    public func wants(_ name: String, times: Int = 1) async -> WantRequest? {
        await wait { $0.timesWanted[name, default: 0] >= times }
        return subscriptions[name]?.request
    }

    /// Waits for the answer to the delivery at `place` in ``deliveries``.
    public func report(of place: Int) async -> DeliveryReport? {
        await wait { $0.deliveries.indices.contains(place) && $0.deliveries[place].report != nil }
        return deliveries.indices.contains(place) ? deliveries[place].report : nil
    }

    func receive(_ request: WantRequest, from peer: [UInt8]) {
        timesWanted[request.want, default: 0] += 1
        if let refusal = behaviour.wantRefusal {
            var refusal = refusal
            (refusal.want, refusal.closed) = (request.want, false)
            return send(.error(refusal), to: peer)
        }
        subscriptions[request.want] = Subscription(request: request, peer: peer, credit: request.credit)
        send(.want(answer(request.want, pending: behaviour.pending, isCaughtUp: behaviour.pending == 0)), to: peer)
        // A new session receives unanswered records again.
        kept.open[request.want] = nil
        deliverKept(to: request.want)
    }

    private func answer(_ want: String, pending: Int64, isCaughtUp: Bool) -> WantAnswer {
        WantAnswer(
            want: want, isNew: timesWanted[want] == 1,
            cursor: Cursor(epoch: behaviour.epoch, sequence: head),
            pending: pending, isCaughtUp: isCaughtUp)
    }

    func receive(_ report: DeliveryReport, from peer: [UInt8]) {
        guard
            let place = deliveries.firstIndex(where: {
                $0.number == report.delivery && $0.want == report.want && $0.peer == peer
            }), deliveries[place].report == nil
        else {
            violations.append("R10.14: DONE of delivery \(report.delivery), which is not open")
            return
        }
        if report.results.count != deliveries[place].records.count {
            violations.append(
                "R10.14: \(report.results.count) results for \(deliveries[place].records.count) records")
        }
        deliveries[place].report = report
        if let subscription = subscriptions[report.want] {
            subscriptions[report.want]?.credit = subscription.credit + report.credit
        }
        settleKept(report)
    }

    // MARK: - Records from before the plugin came

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
    private func deliverKept(to want: String) {
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

    private func settleKept(_ report: DeliveryReport) {
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
