import HubWire
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
