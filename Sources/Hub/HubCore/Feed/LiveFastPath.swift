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
    private(set) var client: Client?
    /// The allowance of that session, lent to the burst.
    private var allowance = TokenBucket(size: 0, rate: 0, now: 0)
    private var heardAt: Int64 = 0
    var track = LiveSessionState()
    /// The messages that wait to be sent, and their feeds.
    private var burst = Multipart()
    private var feeds: [Feed] = []
    /// The number of clock readings of the door: messages between two readings have the same time.
    var look = 0

    /// Maximum frames and bytes of a burst; a larger one would not stay in the caches.
    private static let (longestBurst, maximumBytes) = (64 * LiveSessionState.frames, 65_536)

    mutating func enter(_ client: Client, _ allowance: TokenBucket, at now: Int64) {
        (self.client, self.allowance, heardAt) = (client, allowance, now)
        swap(&track, &client.track)
    }

    /// Gives the session its own data back.
    ///
    /// - Returns: the peer of the session, the rest of its allowance, and when it was last heard.
    mutating func leave() -> (peer: RoutingID, allowance: TokenBucket, heardAt: Int64)? {
        guard let client else { return nil }
        swap(&track, &client.track)
        self.client = nil
        return (client.reference.peer, allowance, heardAt)
    }

    /// Whether one more message is within the session's allowance.
    mutating func admit(at now: Int64) -> Bool {
        heardAt = now
        return allowance.take(at: now)
    }

    /// Whether the waiting messages must be sent before the track's next message.
    var isFull: Bool {
        !burst.isEmpty
            && (burst.count >= Self.longestBurst || burst.byteCount >= Self.maximumBytes
                || !feeds.elementsEqual(track.feeds, by: ===))
    }

    mutating func append(_ live: PlainLive) {
        if burst.isEmpty { feeds = track.feeds }
        track.append(live, to: &burst)
    }

    /// Sends the waiting messages; calls `failed` for a broken feed, and still sends to the others.
    mutating func send(_ failed: (Feed, ZeroMQError) -> Void) {
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

/// Handles messages that are published and never stored: LIVE and EVENT (Protocol §5.2).
extension Door {
    /// Adds a plain LIVE message to the burst: it is not decoded, only the outgoing frames are built.
    ///
    /// A scale with a person on it, or a waveform, sends these faster than all other messages together.
    /// - Returns: `false` if the message does not fit the burst; then nothing was changed.
    func takeLive(_ message: borrowing Multipart, on burst: inout LiveFastPath, at now: Int64) -> Bool {
        guard message.count == 3, Verb.isLive(message.unsafeBytes(of: 1)),
            message.unsafeBytes(of: 2).count <= facts.policy.limits.passingBytes
        else { return false }
        let peer = RoutingID(message.unsafeBytes(of: 0))
        if burst.client?.reference.peer != peer {
            leave(&burst)
            guard let client = clients[peer], let allowance = sessions.takePassingAllowance(of: peer) else {
                return false
            }
            burst.enter(client, allowance, at: now)
        }
        // Checks that the message comes over the endpoint that its sender is known from.
        guard let client = burst.client, message.property("User-Id", is: client.logIn),
            let live = burst.track.reader.read(message.unsafeBytes(of: 2)),
            burst.track.matchesPrevious(live) || begin(&burst.track, live, of: client)
        else { return false }
        guard burst.admit(at: now) else { return true }
        burst.track.listen(as: feeds.changes.count) { feeds.choose($0, $1) }
        guard !burst.track.feeds.isEmpty else { return true }
        burst.track.stamp(facts.clock.time, at: burst.look)
        if burst.isFull { burst.send(feeds.isBroken) }
        burst.append(live)
        return true
    }

    private func begin(_ track: inout LiveSessionState, _ live: PlainLive, of client: Client) -> Bool {
        let unit = live.unit.map { String(decoding: $0, as: UTF8.self) }
        guard
            let id = try? type(
                of: String(decoding: live.type, as: UTF8.self), unit: unit, hasValue: live.hasValue, client)
        else { return false }
        let person = person(of: nil, client)?.name
        track.begin(
            live, .live(type: id.rawValue, person: person, plugin: client.hello.plugin),
            .record(type: id, person: person, plugin: client.hello.plugin, end: .max), .passing(in: store.epoch),
            PlainLive.Addition(person: person, plugin: client.hello.plugin, time: facts.clock.time))
        return true
    }

    /// The type of a LIVE that may be published: the feed must only carry valid types and units (R5.10).
    private func type(
        of name: String, unit: String?, hasValue: Bool, _ client: Client
    ) throws(WireError) -> TypeID {
        guard let type = client.registry.resolve(name) else {
            let nearest = client.registry.suggestion(for: name).map { "; did you mean \"\($0)\"?" } ?? ""
            throw WireError(.field, "LIVE.type: no such type\(nearest)")
        }
        guard client.policy.grants.write.allows(type: type.id.rawValue) else {
            throw WireError(.forbidden, "LIVE.type: \(client.hello.instance) may not write \(type.id)")
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

    private func leave(_ burst: inout LiveFastPath) {
        guard let left = burst.leave() else { return }
        sessions.returnPassingAllowance(left.allowance, from: left.peer, at: left.heardAt)
    }

    /// Sends the burst and returns the lent data before any other work, so that the order of messages is kept.
    func clear(_ burst: inout LiveFastPath) {
        burst.send(feeds.isBroken)
        leave(&burst)
    }

    func pass(_ live: LiveValue, of client: Client) {
        do throws(WireError) {
            let type = try type(of: live.type, unit: live.unit, hasValue: live.value != nil, client)
            let person = person(of: live.subject, client)
            publish(
                .live(type: type.rawValue, person: person?.name, plugin: client.hello.plugin), body: live.body,
                adding: [("person", person.map { .string($0.name) } ?? RawJSON(trusted: Array("null".utf8)))],
                of: client, to: .record(type: type, person: person?.name, plugin: client.hello.plugin, end: .max))
        } catch {
            // LIVE has no answer (R5.8), so the author of the source finds the reason in the log.
            sessions.noteDropped()
            logOfSessions(
                .notice, "a LIVE was dropped",
                ["instance": "\(client.hello.instance)", "reason": "\(error.reason.prefix(256))"])
        }
    }

    private func person(of subject: Subject?, _ client: Client) -> Person? {
        facts.rules.assignment(of: subject, instance: client.hello.instance, allowed: client.policy.persons).person
    }

    func pass(_ event: DeviceEvent, of client: Client) {
        let instance = client.hello.instance
        if event.isResolved {
            plugins.counters.recovered(instance)
        } else if event.isError {
            plugins.counters.failed(
                instance, event.text ?? event.event, isSevere: event.severity == .error,
                isEnding: event.event == "failed")
        }
        // Nothing is kept for other instances, because any program may invent names.
        if facts.instances[instance] != nil { plugins.devices.note(event, of: instance, at: facts.clock.now()) }
        publish(
            .device(plugin: client.hello.plugin, event: event.event), body: event.body,
            adding: [("instance", .string(instance))], of: client, to: .instance(instance))
    }

    private func publish(
        _ topic: Topic, body: RawJSON, adding members: [(name: String, value: RawJSON)], of client: Client,
        to readership: AllowedReaders
    ) {
        let common: [(name: String, value: RawJSON)] = [
            ("source", .string(client.hello.plugin)), ("time", .string(facts.clock.time.text)),
        ]
        guard let body = body.setting(members + common) else { return }
        feeds.publish(topic, body.bytes, to: readership)
    }
}
