package import HubWire
import Logging
import Synchronization
import ZeroMQ

/// The dialogue with the hub over one DEALER socket; it drives ``ClientMachine``.
///
/// The link runs on a ``PollLoop``. It owns a value for each subject, such as ``HubQuestions`` and ``SpoolPump``; an extension beside that value
/// has the steps that send messages or wait for the hub.
package actor HubLink {
    /// An event for the runner.
    enum Signal: Sendable {
        case opened
        /// The hub asks the plugin to stop within the given number of milliseconds.
        case stop(Stop)
        case ended(ClientEnd)
    }

    /// The values that each WELCOME may change.
    struct Terms: Sendable {
        /// `nil` before the first session.
        var identity: HubIdentity?
        var persons: [Welcome.PersonEntry] = []
        /// The types that this plugin may write; `nil` before the first session.
        var sharing: Grants.Scope?
        /// The owner's rights that this plugin has.
        var rights: [String] = []
        var clock = HubClock.system
    }

    nonisolated let loop: PollLoop
    nonisolated let instance: String
    nonisolated let terms = Mutex(Terms())
    /// Whether the plugin has been asked to stop.
    nonisolated let hasStopRequest = Mutex(false)
    /// Counts the sessions that were opened.
    nonisolated let openings = EventCounter()
    nonisolated let signals: AsyncStream<Signal>
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Counts the removals from the spool.
    nonisolated let spoolRemovals = Atomic(0)

    var spool: SpoolPump
    var storeCalls = StoreCalls()
    var sink = SinkDeliveries()
    var commands = HubCommands()
    var questions = HubQuestions()
    var ownersCommands = OwnerCommands()
    /// Callers that wait for the session with their types.
    var declarers: [CheckedContinuation<Result<Void, GiveError>, Never>] = []

    let logger: Logger
    var machine: ClientMachine
    let context: Context
    let address: HubAddress
    let signal: AsyncStream<Signal>.Continuation
    private let origin = ContinuousClock.now
    private var lastSerial = 0

    var socket: Socket?
    var monitor: SocketMonitor?
    var watch: PollLoop.Registration?
    /// Determines the kind of log-in after a handshake that ended without a reason.
    var greeting: PeerGreeting?
    var greetingBegan: ContinuousClock.Instant?
    var timer: PollLoop.Timer?
    var incoming = Multipart()
    /// Whether there is a connection.
    ///
    /// Without one nothing is passed to libzmq, so that a new hub reads HELLO first. libzmq's option for that (`ZMQ_IMMEDIATE`) drops unread
    /// incoming messages with the connection, including STOP.
    var isConnected = false
    /// Messages that wait for a connection, or for the socket to accept them.
    var outgoing: [OutgoingMessage] = []
    /// Actions of the machine that are not performed yet, in their order.
    var due: [ClientAction] = []
    var isPerforming = false
    /// Whether the connection or the session was lost and is not restored yet; an outage is logged once.
    var isAway = false

    var welcomeWaiters: [CheckedContinuation<Welcome?, Never>] = []
    private var endWaiters: [CheckedContinuation<Void, Never>] = []
    var isStopping = false
    /// While true, `finish` waits until the spool is empty.
    private var isDraining = false
    private var isClosing = false
    private var hasLeft = false
    private var isAbandoned = false
    /// The reason why the dialogue is over, or `nil`.
    var end: ClientEnd?

    init(
        hello: Hello, address: HubAddress, state: PluginState?, logger: Logger, loop: PollLoop, context: Context,
        policy: ClientPolicy = ClientPolicy(helloRepeat: 500, longestHelloRepeat: 2_000),
        declaring types: [TypeDeclaration] = [], report: SpoolReport? = nil
    ) {
        (self.loop, self.context, self.address) = (loop, context, address)
        (self.logger, self.instance) = (logger, hello.instance)
        machine = ClientMachine(hello: hello, policy: policy)
        _ = machine.declare(types, at: 0)
        (signals, signal) = AsyncStream.makeStream()
        spool = SpoolPump(of: state, report: report)
    }

    /// Milliseconds of a monotonic clock.
    var now: Int64 {
        let (seconds, attoseconds) = origin.duration(to: .now).components
        return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }

    /// Whether the plugin has to stop, or the dialogue is over.
    var rejectsRequests: Bool { isStopping || end != nil }

    /// Identifies a request in this process; its number in the dialogue differs from session to session.
    func nextSerial() -> Int {
        lastSerial += 1
        return lastSerial
    }

    /// The clock that the hub and its plugins share, as of the last WELCOME.
    nonisolated var clock: HubClock { terms.withLock { $0.clock } }

    // MARK: - Life

    /// Connects, now or as soon as there is a hub, and sends HELLO.
    func open() throws(ZeroMQError) {
        let socket = try Socket(.dealer, in: context)
        try socket.set(.reconnectInterval, to: .milliseconds(100))
        try socket.set(.reconnectIntervalMax, to: .seconds(2))
        try socket.set(.linger, to: .milliseconds(500))
        try socket.set(.maxMessageSize, to: 16 << 20)
        try address.applyLogIn(to: socket)
        let monitor = try socket.monitor()
        loop.watch(monitor.events) { [weak self] _ in self?.assumeIsolated { $0.monitorIsReady() } }
        try socket.connect(address.door)
        watch = loop.watch(socket) { [weak self] ready in self?.assumeIsolated { $0.isReady(ready) } }
        self.socket = consume socket
        self.monitor = consume monitor
        step { $0.start(at: $1) }
    }

    /// Waits for the first session and returns its terms; `nil` if the dialogue ended without one, or the plugin has to stop.
    package func welcome() async -> Welcome? {
        if let welcome = machine.welcome, machine.isOpen { return welcome }
        if end != nil || isStopping { return nil }
        return await withCheckedContinuation { welcomeWaiters.append($0) }
    }

    /// Stops waiting for a session.
    func giveUp() {
        for waiter in welcomeWaiters { waiter.resume(returning: nil) }
        welcomeWaiters = []
    }

    /// The hub's reason for ending the dialogue, if it did.
    var refusal: WireError? {
        if case .fatal(let error)? = end { error } else { nil }
    }

    /// Rejects new requests from now on, and fails the callers that wait for the hub.
    func prepareStop() {
        isStopping = true
        giveUp()
        if isClosing, isDraining {
            isDraining = false
            finishIfDrained()
        }
        stopCommands()
        stopParts("the plugin is being stopped before the hub has answered")
    }

    /// Sends BYE, if `draining` after the spool is empty, and returns when the hub has answered or after `limit`.
    /// - Parameter waitsForHub: waits while the hub is away, too; otherwise the call returns without waiting in that case.
    func close(draining: Bool, waitsForHub: Bool = false, within limit: Duration) async {
        prepareStop()
        isDraining = draining
        isClosing = true
        if !isDraining { spool.isPaused = true }
        if waitsForHub && !isAbandoned || machine.isOpen && !isAway { finishIfDrained() } else { leave() }
        // The hub may be stopping only this process, and then reads BYE. Or the hub has ended, and no answer will come.
        if isAbandoned { leave() }
        let deadline = loop.schedule(after: limit) { [weak self] in
            self?.assumeIsolated { $0.leave() }
        }
        if !hasLeft { await withCheckedContinuation { endWaiters.append($0) } }
        deadline.cancel()
        spool.isPaused = true
        await untilSpoolIsQuiet()
        timer?.cancel()
        watch = nil
        monitor = nil
        greeting = nil
        socket = nil
        signal.finish()
    }

    /// Stops waiting for answers, because the hub's process has ended.
    func abandon() {
        isAbandoned = true
        if isClosing { leave() }
    }

    /// Wakes the callers of `close`, because the dialogue is over.
    func leave() {
        hasLeft = true
        let waiters = endWaiters
        endWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    /// Finishes the dialogue if that was requested, and the spool is empty or need not be.
    func finishIfDrained() {
        guard isClosing, !hasLeft, !isDraining || spool.isEmpty else { return }
        isDraining = false
        spool.isPaused = true
        step { $0.finish(at: $1) }
    }
}
