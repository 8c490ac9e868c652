import Foundation
import Synchronization
import Testing
import ZeroMQ

/// The frames of a message that a DEALER got from the door or a SUB from the feed.
struct Frames: Sendable, CustomStringConvertible {
    let all: [[UInt8]]
    /// The body, parsed at most once, because a page is large.
    private let parsed = Parsed()

    private final class Parsed: Sendable { let body = Mutex<JSON?>(nil) }

    init(all: [[UInt8]]) { self.all = all }

    var verb: String { text(0) }
    /// The body of a message from the door.
    var body: JSON {
        parsed.body.withLock { body in
            let known = body ?? JSON(all.count > 1 ? all[1] : [])
            body = known
            return known
        }
    }
    var topic: String { text(0) }
    /// Sequence and previous of a message from the feed, or empty if the second frame is malformed.
    var place: [Int64] {
        let words = text(1).split(separator: " ", omittingEmptySubsequences: false)
        return words.count == 3 ? words.prefix(2).compactMap { Int64($0) } : []
    }
    var sequence: Int64 { place.first ?? -1 }
    var previous: Int64 { place.last ?? -1 }
    /// The epoch of the sequence numbers.
    var epoch: String { text(1).split(separator: " ").last.map(String.init) ?? "" }
    /// The body of a message from the feed.
    var record: JSON { JSON(all.count > 2 ? all[2] : []) }

    func text(_ index: Int) -> String { index < all.count ? String(decoding: all[index], as: UTF8.self) : "" }

    var description: String { all.map { String(decoding: $0.prefix(300), as: UTF8.self) }.joined(separator: " | ") }
}

/// No message arrived in time.
struct Silence: Error, CustomStringConvertible {
    let description: String
}

/// A client of plain frames, without the project's client code.
///
/// All peers of the process share one loop and one context.
actor Peer {
    private struct Ground {
        let loop: PollLoop
        let context: Context

        init() throws {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = min(limit.rlim_max, 65_536)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            (loop, context) = (try PollLoop(name: "peers"), try Context(maxSockets: 4_096))
            try loop.start()
        }
    }
    private static let ground: Result<Ground, any Error> = Result { try Ground() }

    nonisolated private let loop: PollLoop
    private let context: Context
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var socket: Socket?
    private var incoming = Multipart()
    private var arrived: [Frames] = []
    private var waiter: CheckedContinuation<Void, Never>?
    private var ended: Bool { socket == nil }
    /// Whether PINGs are answered instead of being passed on like other messages.
    var answersPings = true
    /// Messages on topics with this prefix are dropped.
    private var ignored: String?
    private var lastID: Int64 = 0
    private var lastBatch: Int64 = 0

    private init() throws {
        let ground = try Self.ground.get()
        (loop, context) = (ground.loop, ground.context)
    }

    isolated deinit { socket = nil }

    /// Options of a connection.
    struct Options: Sendable {
        var user: String?
        var password = ""
        var routingID: [UInt8]?
        var key: Key?
        /// The subscribed prefixes of a SUB.
        var topics: [String] = []
        /// Whether it reads messages, or leaves them in a short queue.
        var reads = true
    }

    /// The keys for CURVE.
    struct Key: Sendable {
        var hub: CurveKey
        var pair: CurveKeyPair
    }

    static func dealer(_ endpoint: String, _ options: Options = Options()) async throws -> Peer {
        let peer = try Peer()
        try await peer.open(.dealer, endpoint, options)
        return peer
    }

    static func listener(_ endpoint: String, _ topics: [String], _ options: Options = Options()) async throws -> Peer {
        let peer = try Peer()
        var options = options
        options.topics = topics
        try await peer.open(.sub, endpoint, options)
        return peer
    }

    private func open(_ kind: Socket.Kind, _ endpoint: String, _ options: Options) throws {
        let socket = try Socket(kind, in: context)
        if let user = options.user {
            try socket.set(.plainUsername, to: user)
            try socket.set(.plainPassword, to: options.password)
        }
        if let key = options.key {
            try socket.set(.curveServerKey, to: key.hub)
            try socket.set(.curvePublicKey, to: key.pair.publicKey)
            try socket.set(.curveSecretKey, to: key.pair.secretKey)
        }
        if let id = options.routingID { try socket.set(.routingID, to: id) }
        try socket.set(.reconnectInterval, to: .milliseconds(20))
        if kind == .dealer { try socket.set(.sendHighWaterMark, to: 0) }
        try socket.set(.receiveHighWaterMark, to: options.reads ? 0 : 1)
        for topic in options.topics { try socket.subscribe(topic) }
        if options.reads {
            loop.watch(socket) { [weak self] _ in self?.assumeIsolated { $0.takeAll() } }
        }
        try socket.connect(endpoint)
        self.socket = consume socket
    }

    /// Ends the connection at once.
    func close() {
        socket = nil
        wake()
    }

    func answerPings(_ answers: Bool) { answersPings = answers }

    func subscribe(_ topic: String) throws { try socket?.subscribe(topic) }
    func unsubscribe(_ topic: String) throws { try socket?.unsubscribe(topic) }

    private func takeAll() {
        do {
            for _ in 0..<PollLoop.messagesPerTurn {
                guard case .complete? = try socket?.receiveMultipart(into: &incoming) else { break }
                let frames = Frames(all: (0..<incoming.count).map { incoming.bytes(of: $0) })
                if answersPings, frames.verb == "PING" {
                    send([Array("PONG".utf8), frames.all[1]])
                } else if ignored.map({ frames.topic.hasPrefix($0) }) != true {
                    arrived.append(frames)
                }
            }
        } catch {
            Issue.record("a peer's socket failed: \(error)")
        }
        if !arrived.isEmpty { wake() }
    }

    private func wake() {
        waiter?.resume()
        waiter = nil
    }

    // MARK: - Frames

    /// - Parameter isCertain: Whether the test fails if the transport does not accept the message.
    func send(_ frames: [[UInt8]], isCertain: Bool = true) {
        var message = Multipart()
        for frame in frames { message.append(frame) }
        do {
            let outcome = try socket?.sendMultipart(&message)
            if isCertain, outcome != .sent { Issue.record("a peer could not send: \(String(describing: outcome))") }
        } catch {
            Issue.record("a peer could not send: \(error)")
        }
    }

    /// Waits for the next message.
    func next(within time: Duration = .seconds(60), _ what: String = "a message") async throws -> Frames {
        if let frames = await nextIfAny(within: time) { return frames }
        throw Silence(description: "\(what) did not arrive within \(time)")
    }

    /// Waits for the next message, or returns `nil` if none arrives in time.
    func nextIfAny(within time: Duration) async -> Frames? {
        let deadline = ContinuousClock.now + time
        while arrived.isEmpty, !ended, ContinuousClock.now < deadline {
            let timer = loop.schedule(at: deadline) { [weak self] in self?.assumeIsolated { $0.wake() } }
            await withCheckedContinuation { waiter = $0 }
            timer.cancel()
        }
        return arrived.isEmpty ? nil : arrived.removeFirst()
    }

    /// Puts back messages that were read too early, and drops all messages on topics that begin with `topic`.
    func putBack(_ frames: [Frames], butNot topic: String) {
        ignored = topic
        arrived = frames + arrived.filter { !$0.topic.hasPrefix(topic) }
    }

    // MARK: - The dialogue

    func say(_ verb: String, _ body: String = "{}") { send([Array(verb.utf8), Array(body.utf8)]) }

    func ask(_ verb: String, _ body: String = "{}") async throws -> Frames {
        say(verb, body)
        return try await next("an answer to \(verb)")
    }

    /// Opens a session.
    @discardableResult
    func hello(
        _ instance: String = "kitchen-script", plugin: String? = nil, mode: String = "run", _ more: String = ""
    ) async throws -> JSON {
        let body =
            #"{"protocol":[1],"instance":"\#(instance)","plugin":"\#(plugin ?? instance)","version":"1","mode":"\#(mode)"\#(more)}"#
        let reply = try await ask("HELLO", body)
        guard reply.verb == "WELCOME" else { throw Silence(description: "expected WELCOME, got \(reply)") }
        return reply.body
    }

    /// Sends a batch and waits for its answer.
    func give(_ records: [String], backfill: Bool = false) async throws -> Frames {
        give(unanswered: records, backfill: backfill)
        return try await next("an answer to a batch")
    }

    /// Sends a batch without waiting for the answer.
    @discardableResult
    func give(unanswered records: [String], backfill: Bool = false) -> Int64 {
        lastBatch += 1
        say(
            "SAMPLES",
            #"{"batch":\#(lastBatch)\#(backfill ? #","backfill":true"# : ""),"records":[\#(records.joined(separator: ","))]}"#
        )
        return lastBatch
    }

    /// Queries one page.
    func query(_ members: String, want: String = "records") async throws -> Frames {
        lastID += 1
        return try await ask(
            "QUERY", #"{"id":\#(lastID),"want":"\#(want)"\#(members.isEmpty ? "" : ",")\#(members)}"#)
    }

    /// Queries all pages and returns their records, the last cursor and the number of pages.
    func all(_ members: String = "") async throws -> (records: [JSON], cursor: String, pages: Int) {
        var (records, next, pages): ([JSON], String?, Int) = ([], nil, 0)
        while true {
            let mark = next.map { #""next":"\#($0)""# }
            let page = try await query([members, mark ?? ""].filter { !$0.isEmpty }.joined(separator: ","))
            guard page.verb == "RESULT" else { throw Silence(description: "expected RESULT, got \(page)") }
            records += page.body["records"].array
            pages += 1
            next = page.body["next"].string
            if next == nil { return (records, page.body["cursor"].string ?? "", pages) }
        }
    }

    /// Queries the hub's status in the open session.
    func status() async throws -> JSON { try await query("", want: "status").body["status"] }

    func command(_ command: String, _ args: String = "{}", dryRun: Bool = false, instance: String = "hub") async throws
        -> Frames
    {
        lastID += 1
        return try await ask(
            "COMMAND",
            #"{"id":\#(lastID),"instance":"\#(instance)","command":"\#(command)","args":\#(args)\#(dryRun ? #","dryRun":true"# : "")}"#
        )
    }
}

extension Frames {
    /// The code of an ERROR.
    var code: String? { verb == "ERROR" ? body["code"].string : nil }
    /// The result of each record of a batch: `stored`, `duplicate` or the code of a rejection.
    var results: [String] {
        body["results"].array.map { $0["code"].string ?? $0["result"].string ?? "?" }
    }
}

/// A weight record with additional members.
func weight(_ key: String = "k", _ value: Double = 72.3, _ more: String = "") -> String {
    #"{"type":"weight","value":\#(value),"unit":"kg","start":"2024-03-15T07:30:05+01:00","key":"\#(key)"\#(more)}"#
}

func height(_ key: String) -> String {
    #"{"type":"height","value":1.8,"unit":"m","start":"2024-03-15T07:30:05+01:00","key":"\#(key)"}"#
}
