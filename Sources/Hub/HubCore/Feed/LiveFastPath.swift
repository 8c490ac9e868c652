import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// The short path of plain LIVE messages from the door to the feeds, in one turn of the door, until another message comes between them.
///
/// Each message is checked when it comes; they leave together (``ZeroMQ/Socket/sendMessages(_:framesEach:)``), so that each step stays in
/// the processor's caches. The burst holds the data that every message needs; after the turn it is empty, and each session has its
/// own data back.
struct LiveFastPath: ~Copyable {
    /// The client whose messages are handled.
    private var client: Client?
    /// The allowance of that session, lent to the burst.
    private var allowance = TokenBucket(size: 0, rate: 0, now: 0)
    private var heardAt: Int64 = 0
    private var track = LiveSessionState()
    /// The messages that wait to be sent, and their feeds.
    private var burst = Multipart()
    private var feeds: [Feed] = []
    /// The number of clock readings of the door: messages between two readings have the same time.
    var look = 0

    /// Maximum frames and bytes of a burst; a larger one would not stay in the caches.
    private static let (longestBurst, maximumBytes) = (64 * LiveSessionState.frames, 65_536)

    /// Adds a plain LIVE message to the burst: it is not decoded, only the outgoing frames are built.
    ///
    /// A scale with a person on it, or a waveform, sends these faster than all other messages together.
    /// - Returns: `false` if the message does not fit the burst; then nothing was changed.
    @DoorActor
    mutating func take(_ message: borrowing Multipart, at now: Int64, from door: Door) -> Bool {
        guard message.count == 3, Verb.isLive(message.unsafeBytes(of: 1)),
            message.unsafeBytes(of: 2).count <= door.facts.policy.limits.passingBytes
        else { return false }
        let peer = RoutingID(message.unsafeBytes(of: 0))
        if client?.reference.peer != peer {
            leave(door)
            guard let client = door.clients[peer], let allowance = door.sessions.takePassingAllowance(of: peer) else {
                return false
            }
            (self.client, self.allowance, heardAt) = (client, allowance, now)
            swap(&track, &client.track)
        }
        // Checks that the message comes over the endpoint that its sender is known from.
        guard let client, message.property("User-Id", is: client.logIn),
            let live = track.reader.read(message.unsafeBytes(of: 2)),
            track.matchesPrevious(live) || begin(live, of: client, at: door)
        else { return false }
        heardAt = now
        guard allowance.take(at: now) else { return true }
        track.listen(as: door.feeds.changes.count) { door.feeds.choose($0, $1) }
        guard !track.feeds.isEmpty else { return true }
        track.stamp(door.facts.clock.time, at: look)
        if isFull { send(door.feeds.isBroken) }
        if burst.isEmpty { feeds = track.feeds }
        track.append(live, to: &burst)
        return true
    }

    /// Sends the burst and returns the lent data before any other work, so that the order of messages is kept.
    @DoorActor
    mutating func clear(_ door: Door) {
        send(door.feeds.isBroken)
        leave(door)
    }

    @DoorActor
    private mutating func begin(_ live: PlainLive, of client: Client, at door: Door) -> Bool {
        let unit = live.unit.map { String(decoding: $0, as: UTF8.self) }
        guard
            let type = try? client.liveType(
                String(decoding: live.type, as: UTF8.self), unit: unit, hasValue: live.hasValue)
        else { return false }
        let (person, plugin) = (client.person(of: nil)?.name, client.hello.plugin)
        track.begin(
            live, .live(type: type.rawValue, person: person, plugin: plugin),
            .record(type: type, person: person, plugin: plugin, end: .max), .passing(in: door.store.epoch),
            PlainLive.Addition(person: person, plugin: plugin, time: door.facts.clock.time))
        return true
    }

    /// Gives the session its own data back.
    @DoorActor
    private mutating func leave(_ door: Door) {
        guard let client else { return }
        swap(&track, &client.track)
        self.client = nil
        door.sessions.returnPassingAllowance(allowance, from: client.reference.peer, at: heardAt)
    }

    /// Whether the waiting messages must be sent before the track's next message.
    private var isFull: Bool {
        !burst.isEmpty
            && (burst.count >= Self.longestBurst || burst.byteCount >= Self.maximumBytes
                || !feeds.elementsEqual(track.feeds, by: ===))
    }

    /// Sends the waiting messages; calls `failed` for a broken feed, and still sends to the others.
    private mutating func send(_ failed: (Feed, ZeroMQError) -> Void) {
        guard !burst.isEmpty else { return }
        for (index, feed) in feeds.enumerated() {
            do throws(ZeroMQError) {
                if index < feeds.count - 1 {
                    var copy = burst.copy()
                    try feed.send(&copy, framesEach: LiveSessionState.frames)
                } else {
                    try feed.send(&burst, framesEach: LiveSessionState.frames)
                }
            } catch {
                failed(feed, error)
            }
        }
        burst.removeAll()
    }
}

/// The state that all plain LIVE messages of a session share on the feed, as long as they have the same type.
///
/// A session's type, grant and person do not change while it lasts, so the checks of the first message of a type hold for the next ones.
struct LiveSessionState: ~Copyable {
    static let frames = 3

    var reader = PlainLiveReader()
    private var isBegun = false
    /// As spelt by the source.
    private var (type, unit): ([UInt8], [UInt8]?) = ([], nil)
    private var hasValue = false
    /// The first two frames.
    private var heading = Multipart()
    private var addition = PlainLive.Addition(person: nil, plugin: "", time: Timestamp(microseconds: 0))
    private var stampedAt: Int?
    private var (topic, readership) = (Topic.pulse, AllowedReaders.owner)
    /// The feeds with a listener that may read it, and the count of changes at which they were chosen.
    private(set) var feeds: [Feed] = []
    private var feedsAt: Int?

    /// Whether the next message has the same type and unit as the one before.
    func matchesPrevious(_ live: PlainLive) -> Bool {
        guard isBegun, hasValue == live.hasValue, type.withUnsafeBytes({ $0.isSame(as: live.type) }) else {
            return false
        }
        guard let unit, let next = live.unit else { return unit == nil && live.unit == nil }
        return unit.withUnsafeBytes { $0.isSame(as: next) }
    }

    mutating func begin(
        _ live: PlainLive, _ topic: Topic, _ readership: AllowedReaders, _ place: FeedPosition,
        _ addition: PlainLive.Addition
    ) {
        (type, unit, hasValue) = (Array(live.type), live.unit.map(Array.init), live.hasValue)
        (self.topic, self.readership, self.addition) = (topic, readership, addition)
        (isBegun, stampedAt, feedsAt) = (true, nil, nil)
        heading.removeAll()
        heading.append(topic.text)
        heading.append(place.description)
    }

    /// Makes the next message be checked individually.
    mutating func forget() { isBegun = false }

    /// Chooses the feeds, unless no feed has changed since the last time.
    mutating func listen(as changes: Int, _ choose: (Topic, AllowedReaders) -> [Feed]) {
        guard feedsAt != changes else { return }
        (feeds, feedsAt) = (choose(topic, readership), changes)
    }

    /// Sets the time of the next messages, unless the clock was not read since the last.
    mutating func stamp(_ time: @autoclosure () -> Timestamp, at look: Int) {
        guard stampedAt != look else { return }
        addition.set(time())
        stampedAt = look
    }

    fileprivate mutating func append(_ live: PlainLive, to burst: inout Multipart) {
        burst.append(copyOf: &heading)
        burst.append(size: live.count(adding: addition)) { live.write(adding: addition, to: $0) }
    }
}

extension Client {
    /// The type of a LIVE that may be published: the feed must only carry valid types and units (R5.10).
    fileprivate func liveType(_ name: String, unit: String?, hasValue: Bool) throws(WireError) -> TypeID {
        guard let type = registry.resolve(name) else {
            let nearest = registry.suggestion(for: name).map { "; did you mean \"\($0)\"?" } ?? ""
            throw WireError(.field, "LIVE.type: no such type\(nearest)")
        }
        guard policy.grants.write.allows(type: type.id.rawValue) else {
            throw WireError(.forbidden, "LIVE.type: \(hello.instance) may not write \(type.id)")
        }
        guard hasValue || unit != nil else { return type.id }
        guard type.kind == .quantity, let own = type.unit else {
            throw WireError(
                .field, "LIVE.value: \(type.id) is of kind \(type.kind), which has no value and no unit here")
        }
        guard let unit else { throw WireError(.field, "LIVE.unit: missing; \(type.id) is in \"\(own)\"") }
        if unit == own { return type.id }
        do throws(UnitError) {
            _ = try type.canonicalValue(1, unit: unit)
        } catch {
            throw WireError(.field, "LIVE.unit: \(error); expected \"\(own)\" or a unit of the same dimension")
        }
        return type.id
    }

    fileprivate func person(of subject: Subject?) -> Person? { intake.finding(of: subject).assignment.person }
}

/// Publishes messages that are never stored: LIVE and EVENT (Protocol §5.2).
extension Feeds {
    /// - Throws: if the session may not write the type, or the unit does not fit it.
    func publish(_ live: LiveValue, of client: Client) throws(WireError) {
        let type = try client.liveType(live.type, unit: live.unit, hasValue: live.value != nil)
        let (person, plugin) = (client.person(of: live.subject)?.name, client.hello.plugin)
        publish(
            .live(type: type.rawValue, person: person, plugin: plugin), body: live.body,
            adding: [("person", person.map { .string($0) } ?? RawJSON(trusted: Array("null".utf8)))],
            of: plugin, to: .record(type: type, person: person, plugin: plugin, end: .max))
    }

    func publish(_ event: DeviceEvent, of session: ClientSession) {
        publish(
            .device(plugin: session.hello.plugin, event: event.event), body: event.body,
            adding: [("instance", .string(session.instance))], of: session.hello.plugin,
            to: .instance(session.instance))
    }

    private func publish(
        _ topic: Topic, body: RawJSON, adding members: [(name: String, value: RawJSON)], of plugin: String,
        to readership: AllowedReaders
    ) {
        let common: [(name: String, value: RawJSON)] = [
            ("source", .string(plugin)), ("time", .string(facts.clock.time.text)),
        ]
        guard let body = body.setting(members + common) else { return }
        publish(topic, body.bytes, to: readership)
    }
}
