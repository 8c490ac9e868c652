import HubSessions
import HubWire
import Samples
import ZeroMQ

/// The short way of plain LIVE messages from the door to the feeds, in a turn of the door, as long as nothing else comes between.
///
/// Each is judged as it comes; they leave together (``ZeroMQ/Socket/sendMessages(_:framesEach:)``), so that the processor has at hand
/// what each step needs. What is asked of every message is held here; after the turn the burst is empty, and each session has what is
/// its own.
struct LiveBurst: ~Copyable {
    /// Whose messages are on it.
    private(set) var client: Client?
    /// That session's, meanwhile.
    private var allowance = TokenBucket(size: 0, rate: 0, now: 0)
    private var heardAt: Int64 = 0
    var track = LiveTrack()
    /// What waits to leave, and for which feeds.
    private var burst = Multipart()
    private var feeds: [Feed] = []
    /// How often the door has looked at the clocks: the messages between two readings have the same time.
    var look = 0

    /// So much waits at most: more would not lie close at hand any more.
    private static let (longestBurst, mostBytes) = (64 * LiveTrack.frames, 65_536)

    mutating func enter(_ client: Client, _ allowance: TokenBucket, at now: Int64) {
        (self.client, self.allowance, heardAt) = (client, allowance, now)
        swap(&track, &client.track)
    }

    /// Gives the session back what is its own.
    ///
    /// - Returns: whose allowance it is, what is left of it, and when the session was last heard.
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

    /// Whether what waits has to leave before the track's next message.
    var isFull: Bool {
        !burst.isEmpty
            && (burst.count >= Self.longestBurst || burst.byteCount >= Self.mostBytes
                || !feeds.elementsEqual(track.feeds, by: ===))
    }

    mutating func append(_ live: PlainLive) {
        if burst.isEmpty { feeds = track.feeds }
        track.append(live, to: &burst)
    }

    /// Sends what waits; `failed` is told of a feed that is broken, which does not concern the others.
    mutating func send(_ failed: (Feed, ZeroMQError) -> Void) {
        guard !burst.isEmpty else { return }
        for (index, feed) in feeds.enumerated() {
            do throws(ZeroMQError) {
                if index < feeds.count - 1 {
                    var copy = burst.copy()
                    try feed.send(&copy, framesEach: LiveTrack.frames)
                } else {
                    try feed.send(&burst, framesEach: LiveTrack.frames)
                }
            } catch {
                failed(feed, error)
            }
        }
        burst.removeAll()
    }
}

/// What all plain LIVE messages of a session have in common on the feed, as long as they are of one type.
///
/// A session's type, grant and person do not change while it lasts, so the second message of a type is judged by the first.
struct LiveTrack: ~Copyable {
    static let frames = 3

    var reader = PlainLiveReader()
    private var isBegun = false
    /// As the source spells them.
    private var (type, unit): ([UInt8], [UInt8]?) = ([], nil)
    private var hasValue = false
    /// The first two frames.
    private var heading = Multipart()
    private var addition = PlainLive.Addition(person: nil, plugin: "", time: Timestamp(microseconds: 0))
    private var stampedAt: Int?
    private var (topic, readership) = (Topic.pulse, Readership.owner)
    /// The feeds with a listener that may read it, and as of which change of the feeds.
    private(set) var feeds: [Feed] = []
    private var feedsAt: Int?

    /// Whether the next message has the type and the unit that the one before had.
    func isAsBefore(_ live: PlainLive) -> Bool {
        guard isBegun, hasValue == live.hasValue, type.withUnsafeBytes({ $0.isSame(as: live.type) }) else {
            return false
        }
        guard let unit, let next = live.unit else { return unit == nil && live.unit == nil }
        return unit.withUnsafeBytes { $0.isSame(as: next) }
    }

    mutating func begin(
        _ live: PlainLive, _ topic: Topic, _ readership: Readership, _ place: Place,
        _ addition: PlainLive.Addition
    ) {
        (type, unit, hasValue) = (Array(live.type), live.unit.map(Array.init), live.hasValue)
        (self.topic, self.readership, self.addition) = (topic, readership, addition)
        (isBegun, stampedAt, feedsAt) = (true, nil, nil)
        heading.removeAll()
        heading.append(topic.text)
        heading.append(place.description)
    }

    /// The next message is judged by itself.
    mutating func forget() { isBegun = false }

    /// Finds out who listens, unless no feed has changed since the last time.
    mutating func listen(as changes: Int, _ choose: (Topic, Readership) -> [Feed]) {
        guard feedsAt != changes else { return }
        (feeds, feedsAt) = (choose(topic, readership), changes)
    }

    /// The time of what comes now, unless the clock was not looked at since the last.
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
