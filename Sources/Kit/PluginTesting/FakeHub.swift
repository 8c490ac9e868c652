public import HubWire
public import Samples
import Synchronization
public import ZeroMQ

/// A small hub for tests of plugins: real ZeroMQ, real protocol, and any misbehaviour that a test needs.
///
/// It has only the door and keeps all records in memory. It notes each violation of the protocol by a plugin in ``violations``. Waits
/// (`records(_:)`, `hellos(_:)`, …) return as soon as the given count is reached and have no deadline: give the test a time limit.
public actor FakeHub {
    /// The hub's content and behaviour; it may be changed at any time.
    public struct Behaviour: Sendable {
        /// The settings of the plugin, as a JSON object.
        public var settings = RawJSON.emptyObject
        public var persons: [Welcome.PersonEntry] = [.init(name: "me", zone: "Europe/Berlin")]
        /// The grants in WELCOME; the hub stores records even if they violate them.
        public var grants = Grants()
        /// `system` or `START@RATE`.
        public var clock = "system"
        /// Another value means a hub that was restored from a backup.
        public var epoch = "k7qz2m5a"
        public var limits = Limits()
        public var credit = Credit.window
        public var heartbeat = Heartbeat()
        /// While false, SAMPLES are neither stored nor answered.
        public var answers = true
        /// While true, the hub stores SAMPLES but sends no answers.
        public var losesAnswers = false
        /// Whether the feed publishes stored samples.
        public var publishes = false
        /// The number of samples that the feed drops before it publishes one, as for a slow listener.
        public var drops = 0
        /// The number of batches to answer with ERROR `store`; a batch that arrives before `after` has passed is a violation.
        public var storeErrors = 0
        /// Returns the code and reason for a record to reject; record keys are those of the session's plugin.
        public var rejects: @Sendable (Record) -> (RecordRejection.Code, reason: String)? = { _ in nil }
        /// Refuses every HELLO with this error.
        public var refusal: WireError?
        /// Refuses every WANT with this error.
        public var wantRefusal: WireError?
        /// The maximum number of stored records; later batches get no answer.
        public var maximumRecords = Int.max
        /// Whether every message has members that no version of the protocol knows yet, like those of a newer hub.
        public var addsUnknownMembers = false
        /// The number of pending records in the answer to WANT.
        public var pending: Int64 = 1
        /// The pages that answer statistics queries, one after the other, as in Protocol §8.4; the last one repeats.
        public var statistics: [RawJSON] = []
        /// The answers to a plugin's owner questions: for each subject, the value under its name in RESULT.
        ///
        /// Like a hub, it answers only the questions in `owner` of ``grants``.
        public var ownersAnswers: [QueryRequest.Subject: RawJSON] = [:]
        /// The outcome of a command that a plugin sends, and of its answer to `ask`; `nil` if there is none yet (``FakeHub/send(_:)`` sends
        /// one).
        ///
        /// Like a hub, it carries out only the commands in `owner` of ``grants``.
        public var ownersCommand: @Sendable (CommandRequest) -> CommandOutcome.Content? = { _ in
            .failed(code: "command", reason: "the test has no such command")
        }

        public init() {}
    }

    /// A record in the hub.
    public struct Held: Sendable {
        public var record: Record
        /// The record as its source would send it, in canonical form.
        public var text: String
        public var number: Int64
        /// The sequence of its latest version.
        public var sequence: Int64
        /// The sample before its source retracted it; the record itself if it was not retracted.
        var sample: Sample?
    }

    public var behaviour: Behaviour
    /// The endpoint for the plugin.
    public nonisolated let door: String
    /// Violations of the protocol by plugins, as sentences.
    public internal(set) var violations: [String] = [] { didSet { violations.trim(to: Self.remembered) } }
    /// The records in the order in which they were first stored.
    public internal(set) var held: [Held] = []
    public private(set) var hellos: [Hello] = [] { didSet { hellos.trim(to: Self.remembered) } }
    /// The sequence of the record stored last.
    public internal(set) var head: Int64 = 0
    public internal(set) var batches = 0
    /// The number of records that arrived again unchanged.
    public internal(set) var duplicates = 0
    public private(set) var lives: [LiveValue] = [] { didSet { lives.trim(to: Self.remembered) } }
    public private(set) var events: [DeviceEvent] = [] { didSet { events.trim(to: Self.remembered) } }
    /// Maximum number of remembered actions of a plugin.
    private static let remembered = 100_000
    public private(set) var pings = 0
    public private(set) var pongs = 0
    public private(set) var byes = 0
    /// The deliveries in the order in which they were sent.
    public internal(set) var deliveries: [FakeDelivery] = []
    /// The types, including those that plugins have declared.
    var registry = TypeRegistry.standard
    var subscriptions: [String: Subscription] = [:]
    /// Day values in their latest versions, by sequence.
    var days: [StoredRecord] = []
    var kept = Kept()
    var carried = Carried()
    var lastDay: Int64 = 0
    /// The number of requests for each subscription: one in each session.
    public internal(set) var timesWanted: [String: Int] = [:]

    nonisolated let loop: PollLoop
    private let feed: String?
    private let context: Context
    private let logIn: LogIn?
    private var socket: Socket?
    private var publisher: Socket?
    private var guardian: Socket?
    var sessions: [[UInt8]: Session] = [:]
    var byIdentity: [RecordIdentity: Int] = [:]
    /// By instance: when a batch that was answered with ERROR `store` may be sent again, even in another session.
    var storeRests: [String: Int64] = [:]
    /// The QUERY messages received.
    public internal(set) var queries: [QueryRequest] = [] { didSet { queries.trim(to: Self.remembered) } }
    /// The COMMAND messages of plugins received.
    public internal(set) var ownersCommands: [CommandRequest] = [] {
        didSet { ownersCommands.trim(to: Self.remembered) }
    }
    /// Queries received in this turn; they are answered at its end, so that exceeding the limit is noticed.
    var openQueries: [(query: QueryRequest, peer: [UInt8])] = []
    var calls: [Int64: Call] = [:]
    /// The tokens with their versions, by account.
    public internal(set) var tokens: [String: (version: Int64, json: RawJSON?)] = [:]
    /// The failures that plugins reported for tokens.
    public internal(set) var tokenFailures: [TokenRequest.Failure] = []
    var leases = TokenLeases()
    /// The number of times the hub stores a token but forgets the session before it answers.
    public var lostTokenAnswers = 0
    var lastCall: Int64 = 0
    var watchers: [(isMet: (isolated FakeHub) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    private var incoming = Multipart()
    private let started = ContinuousClock.now

    /// Milliseconds of a monotonic clock.
    var now: Int64 { Int64(started.duration(to: .now) / .milliseconds(1)) }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The only peer that a guarded door admits.
    public struct LogIn: Sendable {
        public var instance: String
        public var token: String

        public init(instance: String, token: String) { (self.instance, self.token) = (instance, token) }
    }

    struct Session {
        /// Whether batches are refused until the PONG to the PING that followed ERROR `store`, as a hub does (R5.5).
        var refusesBatches = false
        var hello: Hello
        var credit: Credit
        var decoder: RecordDecoder
        var reference: SessionReference
    }

    /// Creates a hub without a door; ``start()`` binds it.
    /// - Parameters:
    ///   - door: `ipc://…` in a directory of the test, or `inproc://…` in a shared `context`.
    ///   - feed: an endpoint for a feed; `nil` for none.
    ///   - logIn: makes the door a plugin's endpoint with PLAIN log-in; `nil` makes it an owner's endpoint.
    public init(
        door: String, feed: String? = nil, context: Context, behaviour: Behaviour = Behaviour(), logIn: LogIn? = nil
    ) throws {
        (self.door, self.feed, self.context, self.behaviour, self.logIn) = (door, feed, context, behaviour, logIn)
        loop = try PollLoop(name: "fake-hub")
        try loop.start()
    }

    deinit {
        // The last reference may be released on the loop's own thread, which cannot wait for its own end.
        let loop = loop
        if loop.isIsolatingCurrentContext() != true { loop.stop() }
    }

    // MARK: - Life

    /// Opens the door.
    public func start() throws {
        let socket = try Socket(.router, in: context)
        try socket.set(.routerMandatory, to: true)
        try socket.set(.maxMessageSize, to: Int64(behaviour.limits.frameBytes))
        if logIn != nil {
            try guardDoor()
            try socket.set(.plainServer, to: true)
            try socket.set(.zapDomain, to: "plugin")
        }
        try socket.bind(door)
        loop.watch(socket) { [weak self] _ in self?.assumeIsolated { $0.isReady() } }
        self.socket = consume socket
        if let feed { try open(feed: feed) }
    }

    private func open(feed: String) throws {
        let publisher = try Socket(.pub, in: context)
        if logIn != nil {
            try publisher.set(.plainServer, to: true)
            try publisher.set(.zapDomain, to: "plugin")
        }
        try publisher.bind(feed)
        self.publisher = consume publisher
    }

    private func guardDoor() throws {
        let guardian = try Socket(.rep, in: context)
        try guardian.bind(ZAPRequest.endpoint)
        loop.watch(guardian) { [weak self] _ in self?.assumeIsolated { $0.judge() } }
        self.guardian = consume guardian
    }

    private func judge() {
        var frames = Multipart()
        while case .complete? = try? guardian?.receiveMultipart(into: &frames), let request = ZAPRequest(frames) {
            var isRight = false
            if let logIn, case .plain(let user, let password) = request.credentials {
                isRight = user == Array(logIn.instance.utf8) && password == Array(logIn.token.utf8)
            }
            let verdict: ZAPRequest.Verdict = isRight ? .allow(userID: logIn?.instance ?? "") : .refuse("wrong token")
            _ = try? guardian?.sendMultipart(request.reply(verdict))
        }
    }

    /// Closes the door and all sessions, like kill -9; stored records stay.
    public func vanish() {
        socket = nil
        guardian = nil
        publisher = nil
        sessions = [:]
        subscriptions = [:]
    }

    /// Forgets all sessions, like a hub that has closed them; connections stay.
    public func forgetSessions() {
        (sessions, subscriptions) = ([:], [:])
        leases = TokenLeases()
    }

    public func change(_ body: @Sendable (inout Behaviour) -> Void) { body(&behaviour) }

    /// Sends STOP to every session.
    public func sendStop(reason: String = "a test", deadline: Int64 = 5_000) {
        for peer in sessions.keys { send(.stop(Stop(reason: reason, deadline: deadline)), to: peer) }
    }

    /// Sends STOP to every session and closes the door before a session can answer.
    public func stopAndVanish() {
        sendStop()
        vanish()
    }

    /// Sends any message to every session.
    public func send(_ message: HubMessage) {
        for peer in sessions.keys { send(message, to: peer) }
    }

    // MARK: - Waits

    /// The held records, as soon as there are `count`.
    @discardableResult
    public func records(_ count: Int) async -> [Held] {
        await wait { $0.held.count >= count }
        return held
    }

    @discardableResult
    public func hellos(_ count: Int) async -> [Hello] {
        await wait { $0.hellos.count >= count }
        return hellos
    }

    @discardableResult
    public func events(_ count: Int) async -> [DeviceEvent] {
        await wait { $0.events.count >= count }
        return events
    }

    @discardableResult
    public func lives(_ count: Int) async -> [LiveValue] {
        await wait { $0.lives.count >= count }
        return lives
    }

    /// Returns when `count` batches have arrived, answered or not.
    public func batches(_ count: Int) async { await wait { $0.batches >= count } }
    public func pings(_ count: Int) async { await wait { $0.pings >= count } }
    public func pongs(_ count: Int) async { await wait { $0.pongs >= count } }
    public func byes(_ count: Int) async { await wait { $0.byes >= count } }

    /// Returns when `isMet` is true, which is checked after every message, or when the task is cancelled, for example by a time limit.
    public func wait(until isMet: @escaping @Sendable (isolated FakeHub) -> Bool) async {
        if isMet(self) { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { return continuation.resume() }
                watchers.append((isMet, continuation))
            }
        } onCancel: {
            Task { await self.giveUpWaiting() }
        }
    }

    /// Ends all waits, although their conditions are not met.
    public func giveUpWaiting() {
        for watcher in watchers { watcher.continuation.resume() }
        watchers = []
    }

    func notifyWatchers() {
        let met = watchers.filter { $0.isMet(self) }
        guard !met.isEmpty else { return }
        watchers.removeAll { $0.isMet(self) }
        for watcher in met { watcher.continuation.resume() }
    }

    // MARK: - Messages

    private func isReady() {
        for _ in 0..<PollLoop.messagesPerTurn {
            guard case .complete? = try? socket?.receiveMultipart(into: &incoming) else { break }
            receive()
        }
        answerQueries()
        publishStored()
        notifyWatchers()
    }

    private func receive() {
        let peer = incoming.bytes(of: 0)
        // ROUTER creates ids of five bytes that begin with 0; a client must have set any other id.
        if peer.count != 5 || peer[0] != 0 { violations.append("R2.1: a routing id was set") }
        guard incoming.count >= 3 else {
            violations.append("R3.1: \(incoming.count - 1) frames")
            return send(.error(WireError(.frames, "expected two frames")), to: peer)
        }
        let (verb, body) = (incoming.bytes(of: 1), incoming.bytes(of: 2))
        let known = verb.withUnsafeBytes { Verb($0) }
        guard known == .hello || sessions[peer] != nil else {
            return send(.error(WireError(.helloFirst, "no session: say HELLO")), to: peer)
        }
        if known == .samples { return samples(body, from: peer) }
        let count = incoming.count - 1
        do throws(WireError) {
            let message = try verb.withUnsafeBufferPointer { verb throws(WireError) in
                try body.withUnsafeBufferPointer { body throws(WireError) in
                    try ClientMessage.decode(
                        verb: UnsafeRawBufferPointer(verb), body: UnsafeRawBufferPointer(body), frameCount: count)
                }
            }
            receive(message, from: peer)
        } catch {
            violations.append("\(error)")
            send(.error(error), to: peer)
        }
    }

    private func receive(_ message: ClientMessage, from peer: [UInt8]) {
        switch message {
        case .hello(let hello): greet(hello, peer)
        case .live(let live): lives.append(live)
        case .event(let event): events.append(event)
        case .ping(let body):
            pings += 1
            if behaviour.answers { send(.pong(body), to: peer) }
        case .pong:
            pongs += 1
            sessions[peer]?.refusesBatches = false
        case .bye:
            byes += 1
            send(.bye(Bye()), to: peer)
            sessions[peer] = nil
        case .query(let query): openQueries.append((query, peer))
        case .progress(let progress): note(progress)
        case .outcome(let outcome): note(outcome)
        case .want(let request): receive(request, from: peer)
        case .done(let report): receive(report, from: peer)
        case .token(let request): answer(request, peer)
        case .tokenPut(let put): store(put, peer)
        case .command(let command): carryOut(command, peer)
        case .samples: break
        }
    }

    private func greet(_ hello: Hello, _ peer: [UInt8]) {
        hellos.append(hello)
        if let refusal = behaviour.refusal { return send(.error(refusal), to: peer) }
        do throws(TypeError) {
            for type in hello.declares {
                registry = try registry.registering(
                    HealthType(
                        declaring: TypeID(type.id), kind: type.kind, unit: type.unit, aggregation: type.aggregation))
            }
        } catch {
            violations.append("HELLO.declares: \(error)")
            return send(.error(WireError(.field, "HELLO.declares: \(error)")), to: peer)
        }
        // A new session has not requested any subscription yet.
        subscriptions = subscriptions.filter { $0.value.peer != peer }
        sessions[peer] = Session(
            hello: hello, credit: behaviour.credit, decoder: RecordDecoder(plugin: hello.plugin, registry: registry),
            reference: SessionReference(
                peer: peer.withUnsafeBytes { RoutingID($0) }, serial: UInt64(hellos.count)))
        let welcome = Welcome(
            session: "session-\(hellos.count)", hub: "fake", epoch: behaviour.epoch, head: head,
            instance: hello.instance, plugin: hello.plugin, grants: behaviour.grants, limits: behaviour.limits,
            credit: behaviour.credit, heartbeat: behaviour.heartbeat, settings: behaviour.settings,
            persons: behaviour.persons,
            clock: behaviour.clock, time: (HubClock(behaviour.clock) ?? .system).time, feed: feed ?? "inproc://nowhere",
            serves: Verb.allCases.filter(Verb.fromClient.contains))
        send(.welcome(welcome), to: peer)
    }

    private static func newer(_ body: [UInt8]) -> [UInt8] {
        let isEmpty = body == Array("{}".utf8)
        return body.dropLast() + Array("\(isEmpty ? "" : ",")\"later\":{\"members\":[1,null,\"x\"]}}".utf8)
    }

    func publish(_ message: FeedMessage) {
        var frames = Multipart()
        for frame in message.frames { frames.append(frame) }
        _ = try? publisher?.sendMultipart(frames)
    }

    func send(_ message: HubMessage, to peer: [UInt8]) {
        var frames = Multipart()
        frames.append(peer)
        frames.append(message.verb.bytes)
        frames.append(behaviour.addsUnknownMembers ? Self.newer(message.body) : message.body)
        _ = try? socket?.sendMultipart(frames)
    }
}

extension Array {
    fileprivate mutating func trim(to most: Int) { if count > most { removeLast(count - most) } }
}
