import HubSessions
public import HubWire
public import Samples
import Synchronization
public import ZeroMQ

/// A small hub for the tests of plugins: real ZeroMQ, real protocol, and as ill-behaved as a test wants.
///
/// It has the door only, keeps what it is given in memory, and notes whatever a plugin does against the protocol in
/// ``violations``. Waits (`records(_:)`, `hellos(_:)`, …) return as soon as there is so much and have no deadline of their
/// own: give the test a time limit.
public actor FakeHub {
    /// What it says and how it behaves; may be changed at any time.
    public struct Behaviour: Sendable {
        /// The settings of the plugin, as a JSON object.
        public var settings = RawJSON.emptyObject
        public var persons: [Welcome.PersonEntry] = [.init(name: "me", zone: "Europe/Berlin")]
        /// As WELCOME says them; what is given against them is stored all the same.
        public var grants = Grants()
        /// `system` or `START@RATE`.
        public var clock = "system"
        /// Another means a hub that was restored from a backup.
        public var epoch = "k7qz2m5a"
        public var limits = Limits()
        public var credit = Credit.window
        public var heartbeat = Heartbeat()
        /// While false, SAMPLES are neither stored nor answered.
        public var answers = true
        /// While true, SAMPLES are stored, and their answers lost.
        public var losesAnswers = false
        /// Whether its feed carries what is stored.
        public var publishes = false
        /// So many samples are left out by the feed before it carries one, as for a listener that is too slow.
        public var drops = 0
        /// Number of batches to answer with ERROR `store`; a batch that comes before `after` is over is a violation.
        public var storeErrors = 0
        /// The records to reject, and why; the keys of the session's plugin.
        public var rejects: @Sendable (Record) -> (RecordRejection.Code, reason: String)? = { _ in nil }
        /// Refuses every HELLO so.
        public var refusal: WireError?
        /// Refuses every WANT so.
        public var wantRefusal: WireError?
        /// So many records are stored at most; batches beyond get no answer.
        public var mostRecords = Int.max
        /// Every message has members that no version of the protocol knows yet, as those of a newer hub do.
        public var addsUnknownMembers = false
        /// What the answer to WANT says of records that are still to come.
        public var pending: Int64 = 1
        /// The pages that questions about statistics are answered with, one after the other, as in Protocol §8.4; the last stays.
        public var statistics: [RawJSON] = []
        /// What a plugin is answered that asks what is the owner's: by the subject, what stands under its name in RESULT.
        ///
        /// Only what ``grants`` have in `owner` is answered, as by a hub.
        public var ownersAnswers: [QueryRequest.Subject: RawJSON] = [:]
        /// What becomes of a command that a plugin gives, and of its answer to `ask`; `nil`: there is no outcome yet
        /// (``FakeHub/send(_:)`` sends one).
        ///
        /// Only what ``grants`` have in `owner` is carried out, as by a hub.
        public var ownersCommand: @Sendable (CommandRequest) -> CommandOutcome.Content? = { _ in
            .failed(code: "command", reason: "the test has no such command")
        }

        public init() {}
    }

    /// A record as the hub holds it.
    public struct Held: Sendable {
        public var record: Record
        /// As its source would send it, in canonical form.
        public var text: String
        public var number: Int64
        /// Of its latest version.
        public var sequence: Int64
        /// What it was before its source took it back; the record itself where it did not.
        var sample: Sample?
    }

    public var behaviour: Behaviour
    /// Where the plugin finds it.
    public nonisolated let door: String
    /// What plugins did against the protocol, in sentences.
    public internal(set) var violations: [String] = [] { didSet { violations.trim(to: Self.remembered) } }
    /// In the order in which they were first stored.
    public internal(set) var held: [Held] = []
    public private(set) var hellos: [Hello] = [] { didSet { hellos.trim(to: Self.remembered) } }
    /// The sequence of the latest that was stored.
    public internal(set) var head: Int64 = 0
    public internal(set) var batches = 0
    /// Records that came again unchanged.
    public internal(set) var duplicates = 0
    public private(set) var lives: [LiveValue] = [] { didSet { lives.trim(to: Self.remembered) } }
    public private(set) var events: [DeviceEvent] = [] { didSet { events.trim(to: Self.remembered) } }
    /// Of what a plugin does, the first so many are remembered.
    private static let remembered = 100_000
    public private(set) var pings = 0
    public private(set) var pongs = 0
    public private(set) var byes = 0
    /// In the order in which they were sent.
    public internal(set) var deliveries: [FakeDelivery] = []
    /// The types, with those that plugins have declared.
    var registry = TypeRegistry.standard
    var subscriptions: [String: Subscription] = [:]
    /// Day values, each in its latest version, by sequence.
    var days: [StoredRecord] = []
    var kept = Kept()
    var carried = Carried()
    var lastDay: Int64 = 0
    /// How often each subscription was asked for: once in each session.
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
    /// By instance, when a batch that was answered with ERROR `store` may come again; also in another session.
    var storeRests: [String: Int64] = [:]
    /// QUERY messages that came.
    public internal(set) var queries: [QueryRequest] = [] { didSet { queries.trim(to: Self.remembered) } }
    /// COMMAND messages of plugins that came.
    public internal(set) var ownersCommands: [CommandRequest] = [] {
        didSet { ownersCommands.trim(to: Self.remembered) }
    }
    /// Came in this turn, and are answered at its end: more than the limit at a time is noticed.
    var openQueries: [(query: QueryRequest, peer: [UInt8])] = []
    var calls: [Int64: Call] = [:]
    /// By account, with versions.
    public internal(set) var tokens: [String: (version: Int64, json: RawJSON?)] = [:]
    /// What plugins said of tokens that they could not have.
    public internal(set) var tokenFailures: [TokenRequest.Failure] = []
    var leases = TokenLeases()
    /// So many times a token is stored, and then the session forgotten, before the plugin is told.
    public var lostTokenAnswers = 0
    var lastCall: Int64 = 0
    var watchers: [(isMet: (isolated FakeHub) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    private var incoming = Multipart()
    private let started = ContinuousClock.now

    /// Milliseconds of a clock that only goes forward.
    var now: Int64 { Int64(started.duration(to: .now) / .milliseconds(1)) }

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The only peer that a guarded door lets in.
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

    /// A hub that is not there yet: ``start()`` binds its door.
    /// - Parameters:
    ///   - door: `ipc://…` in a directory of the test's own, or `inproc://…` in a shared `context`.
    ///   - feed: where plugins may listen too, and hear nothing; `nil`: nowhere.
    ///   - logIn: makes it a plugin's endpoint, with PLAIN log-in; nil an owner's.
    public init(
        door: String, feed: String? = nil, context: Context, behaviour: Behaviour = Behaviour(), logIn: LogIn? = nil
    ) throws {
        (self.door, self.feed, self.context, self.behaviour, self.logIn) = (door, feed, context, behaviour, logIn)
        loop = try PollLoop(name: "fake-hub")
        try loop.start()
    }

    deinit {
        // The last reference may go on the loop's own thread, which cannot wait for itself.
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

    /// As kill -9 does: the door is gone with all sessions; what is stored stays.
    public func vanish() {
        socket = nil
        guardian = nil
        publisher = nil
        sessions = [:]
        subscriptions = [:]
    }

    /// Forgets all sessions, as a hub that has closed them; connections stay.
    public func forgetSessions() {
        (sessions, subscriptions) = ([:], [:])
        leases = TokenLeases()
    }

    public func change(_ body: @Sendable (inout Behaviour) -> Void) { body(&behaviour) }

    /// Sends STOP to every session.
    public func sendStop(reason: String = "a test", deadline: Int64 = 5_000) {
        for peer in sessions.keys { send(.stop(Stop(reason: reason, deadline: deadline)), to: peer) }
    }

    /// Sends STOP to every session, and is gone before a session can have answered.
    public func stopAndVanish() {
        sendStop()
        vanish()
    }

    /// Sends any message to every session.
    public func send(_ message: HubMessage) {
        for peer in sessions.keys { send(message, to: peer) }
    }

    // MARK: - Messages

    private func isReady() {
        for _ in 0..<PollLoop.messagesPerTurn {
            guard case .complete? = try? socket?.receiveMultipart(into: &incoming) else { break }
            receive()
        }
        answerQueries()
        publishStored()
        tellWatchers()
    }

    private func receive() {
        let peer = incoming.bytes(of: 0)
        // ROUTER makes five bytes that begin with 0; anything else was set by the client.
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
        let message: Result<ClientMessage, WireError> = verb.withUnsafeBytes { verb in
            body.withUnsafeBytes { body in
                do throws(WireError) {
                    return .success(try ClientMessage.decode(verb: verb, body: body, frameCount: count))
                } catch {
                    return .failure(error)
                }
            }
        }
        switch message {
        case .success(let message): receive(message, from: peer)
        case .failure(let error):
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
        // A new session has asked for nothing yet.
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
