import Foundation
import HubWire
public import Samples

/// Stores the records of plugins, and publishes them on the feed.
extension FakeHub {
    /// The milliseconds of `after`: longer than a client takes that does not wait.
    private static let storeRest: Int64 = 500

    /// The type, value and unit of each held sample, in the order of the keys; retracted samples are left out.
    package func heldText() -> [String] {
        held.compactMap { held -> (String, String)? in
            guard case .sample(let sample) = held.record else { return nil }
            if case .quantity(let value, let unit) = sample.value {
                return (sample.key.text, "\(sample.type) \(value) \(unit)")
            }
            return (sample.key.text, "\(sample.type)")
        }.sorted { $0 < $1 }.map(\.1)
    }

    func samples(_ body: [UInt8], from peer: [UInt8]) {
        batches += 1
        guard var session = sessions[peer] else { return }
        let message: SamplesMessage
        do throws(WireError) {
            message = try body.withUnsafeBufferPointer { bytes throws(WireError) in
                try session.decoder.samples(UnsafeRawBufferPointer(bytes))
            }
        } catch {
            violations.append("\(error)")
            return send(.error(error), to: peer)
        }
        let cost = Credit(records: message.records.count, bytes: body.count)
        if !session.credit.covers(cost) {
            violations.append("R4.12: a batch of \(cost.records) records and \(cost.bytes) bytes beyond the credit")
        }
        if message.records.count > behaviour.limits.batchRecords {
            violations.append("R4.8: \(message.records.count) records in a batch")
        }
        session.credit = session.credit - cost
        sessions[peer] = session
        guard behaviour.answers, held.count < behaviour.maximumRecords else { return }
        sessions[peer]?.credit = session.credit + cost
        let instance = session.hello.instance
        let refusal = WireError(.store, "the disk is full", ref: message.batch, after: Self.storeRest, credit: cost)
        // The batch may have been on its way.
        if session.refusesBatches { return send(.error(refusal), to: peer) }
        if let rest = storeRests.removeValue(forKey: instance), now < rest {
            violations.append(
                "R5.5: a batch came \(rest - now) ms too early after ERROR store, whose after was \(Self.storeRest)")
        }
        if behaviour.storeErrors > 0 {
            behaviour.storeErrors -= 1
            storeRests[instance] = now + Self.storeRest
            sessions[peer]?.refusesBatches = true
            send(.error(refusal), to: peer)
            return send(.ping(.emptyObject), to: peer)
        }
        let results = message.records.map { store($0) }
        if behaviour.losesAnswers { return }
        send(.stored(Stored(batch: message.batch, results: results, credit: cost)), to: peer)
    }

    func store(_ result: Result<Record, RecordRejection>) -> RecordResult {
        let record: Record
        switch result {
        case .failure(let rejection): return .rejected(rejection.code, reason: rejection.reason)
        case .success(let read): record = read
        }
        if let (code, reason) = behaviour.rejects(record) { return .rejected(code, reason: reason) }
        if case .day(let day) = record, let fault = day.seriesFault { return .rejected(.forbidden, reason: fault) }
        var bytes: [UInt8] = []
        RecordEncoder.append(record, to: &bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        if let place = byIdentity[record.identity] {
            let number = held[place].number
            guard held[place].text != text else {
                duplicates += 1
                return .duplicate(number: number, sequence: held[place].sequence)
            }
            head += 1
            (held[place].record, held[place].text, held[place].sequence) = (record, text, head)
            if let sample = record.sample { held[place].sample = sample }
            return .stored(number: number, sequence: head)
        }
        head += 1
        byIdentity[record.identity] = held.count
        held.append(Held(record: record, text: text, number: head, sequence: head, sample: record.sample))
        return .stored(number: head, sequence: head)
    }

    // MARK: - The feed

    /// The state of the feed.
    struct Carried {
        /// The last sequence on each topic, the value for ``FeedPosition/previous``.
        var latest: [Topic: Int64] = [:]
        /// All sequences up to this one are published, or dropped for good.
        var head: Int64 = 0
    }

    /// Publishes the samples stored since the last call, and the position of the store.
    ///
    /// It does nothing if ``Behaviour/publishes`` is false; the next ``Behaviour/drops`` samples are dropped.
    func publishStored() {
        guard behaviour.publishes, carried.head < head else { return }
        let samples = held.compactMap { HeldSample($0) }.filter { $0.sequence > carried.head }
        for sample in samples.sorted(by: { $0.sequence < $1.sequence }) {
            let stored = sample.stored(of: Self.owner)
            let topic = Topic(stored)
            let place = FeedPosition(
                sequence: sample.sequence, previous: carried.latest[topic] ?? 0, epoch: behaviour.epoch)
            carried.latest[topic] = sample.sequence
            guard behaviour.drops == 0 else {
                behaviour.drops -= 1
                continue
            }
            var body: [UInt8] = []
            RecordEncoder.append(stored, to: &body)
            publish(FeedMessage(topic: topic, place: place, body: body))
        }
        carried.head = head
        publishPulse()
    }

    /// Publishes the position of the store (R7.3).
    public func publishPulse() {
        let pulse = Pulse(epoch: behaviour.epoch, head: head, time: HubClock.system.time.text)
        guard let body = try? JSONEncoder().encode(pulse) else { return }
        publish(FeedMessage(topic: .pulse, place: .passing(in: behaviour.epoch), body: Array(body)))
    }

    /// Stores records like another program of the person would, and publishes them.
    public func give(_ records: [Record]) {
        for record in records { _ = store(.success(record)) }
        publishStored()
        notifyWatchers()
    }

    /// Closes the door and removes the newest records, like a hub restored from an older backup, in another epoch.
    ///
    /// ``start()`` opens the door again.
    ///
    /// - Parameters:
    ///   - count: the number of newest records to remove; all if there are fewer.
    ///   - epoch: the epoch of the store from then on.
    public func restore(losing count: Int, epoch: String) {
        vanish()
        held.removeLast(min(count, held.count))
        byIdentity = Dictionary(uniqueKeysWithValues: held.enumerated().map { ($1.record.identity, $0) })
        head = held.map(\.sequence).max() ?? 0
        carried = Carried(
            latest: Dictionary(
                held.compactMap { HeldSample($0) }.map { (Topic($0.stored(of: Self.owner)), $0.sequence) },
                uniquingKeysWith: max), head: head)
        behaviour.epoch = epoch
    }
}

extension Record {
    fileprivate var sample: Sample? { if case .sample(let sample) = self { sample } else { nil } }
}
