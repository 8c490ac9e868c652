import HealthText
import HubClient
import HubWire
import Samples
import Synchronization

/// Follows the weigh-ins in the hub like any subscriber, for the story, which reports them, and for the players, which wait for them.
final class DemoObserver: Sendable {
    /// A weigh-in in the hub.
    struct HubWeighIn: Sendable {
        var number: Int64
        /// The person the hub assigned it to; `nil` if it is in the inbox.
        var person: String?
        /// The reason why it is in the inbox.
        var reason: String?
        var group: String?
        var isClockSuspect = false
    }

    /// The observations so far.
    struct Seen: Sendable {
        /// The weigh-ins, by scale and weight.
        var weighings: [DemoWeighing.Place: HubWeighIn] = [:]
        /// The body fat as a fraction, by the name of the group.
        var fat: [String: Double] = [:]
        /// The error messages of each scale's connector.
        var faults: [DemoScale: [String]] = [:]
        /// The number of sessions with a scale, and of complete reads of its memory.
        var (sessions, memories): ([DemoScale: Int], [DemoScale: Int]) = ([:], [:])
        /// An unsettled weight, or the progress of a transfer.
        var passing: String?
    }

    let seen = AwaitableValue(Seen())
    private let isOver = Mutex(false)

    /// Follows the hub until ``stop()``; blocks.
    func run(_ endpoints: OwnerEndpoints) throws {
        let door = { try DoorClient(endpoint: endpoints.door, command: "demo") }
        let beginning = Cursor(epoch: try door().open().epoch, sequence: 0)
        let follower = try FeedFollower(
            feed: endpoints.feed, prefixes: ["sample/", "hub/inbox/", "live/", "device/"], since: beginning, door: door)
        var reader = RecordReader()
        while !isOver.withLock({ $0 }) {
            guard case .message(let topic, let place, let body) = try follower.next(upTo: .milliseconds(100)) else {
                continue
            }
            if place.sequence > 0 {
                let record = try reader.record(body[...])
                seen.change { $0.note(record) }
            } else {
                note(topic, body)
            }
        }
    }

    /// Ends ``run(_:)`` soon.
    func stop() { isOver.withLock { $0 = true } }

    private struct Passing: Decodable {
        var text: String?
        var severity: String?
        var value: Double?
        var progress: Double?
    }

    private func note(_ topic: Topic, _ body: [UInt8]) {
        guard let message = try? JSON.decode(Passing.self, from: body),
            let scale = DemoScale.allCases.first(where: { topic.segments.contains($0.instance) })
        else { return }
        switch (topic.segments.first, topic.segments.last) {
        case ("live", _):
            let text = message.value.map { "\(scale.rawValue) \(NumberText.shortest($0)) kg" }
            let part = message.progress.map { "\(scale.rawValue) memory \(Int($0 * 100)) %" }
            seen.change { $0.passing = text ?? part }
        case ("device", "connected"): seen.change { $0.sessions[scale, default: 0] += 1 }
        case ("device", "memory-end"): seen.change { $0.memories[scale, default: 0] += 1 }
        case ("device", "error"):
            guard let text = message.text, message.severity != "info" else { return }
            seen.change { $0.faults[scale, default: []].append(text) }
        default: break
        }
    }
}

extension DemoWeighing {
    /// Identifies a weigh-in in the plan, in the scale's diary and in the store.
    struct Place: Hashable, Sendable {
        let device: String
        let tenthsOfKilogram: Int
    }

    var place: Place { Place(device: scale.device, tenthsOfKilogram: tenthsOfKilogram) }
}

extension DemoWeighing.Place {
    /// - Returns: `nil` for a record that is not a device's weight.
    init?(_ record: StoredRecord) {
        guard case .sample(let sample) = record.record, record.type == .weight, let device = sample.source.device,
            case .quantity(let kilograms, _) = sample.value
        else { return nil }
        self.init(device: device, tenthsOfKilogram: Int((kilograms * 10).rounded()))
    }
}

extension DemoObserver.Seen {
    fileprivate mutating func note(_ record: StoredRecord) {
        guard case .sample(let sample) = record.record else { return }
        if record.type == .bodyFatPercentage, let group = sample.group, case .quantity(let part, _) = sample.value {
            fat[group] = part
        }
        guard let place = DemoWeighing.Place(record) else { return }
        var sighting = DemoObserver.HubWeighIn(number: record.number, group: sample.group)
        sighting.isClockSuspect = sample.metadata?.text.contains(#""clockSuspect":true"#) ?? false
        switch record.assignment {
        case .person(let person): sighting.person = person.name
        case .nobody(let reason): sighting.reason = reason
        }
        weighings[place] = sighting
    }
}
