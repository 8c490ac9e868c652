import Foundation
import HubWire
public import Samples

/// The feed, for programs that follow one.
extension FakeHub {
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
