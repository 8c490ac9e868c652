package import HubWire
import Logging
import PluginState
import Synchronization
import ZeroMQ

/// The dialogue with the hub over one DEALER socket: drives ``ClientMachine``, and has a part of its own for each thing it is about.
///
/// Lives on a ``PollLoop``, and its parts with it. They speak to the hub through a ``HubOutlet``, and hear from here what concerns them.
package actor HubLink {
    /// What the runner is told.
    enum Signal: Sendable {
        case opened
        /// The hub asks to stop within so many milliseconds.
        case stop(Stop)
        case ended(ClientEnd)
    }

    /// What every WELCOME may change.
    struct Terms: Sendable {
        /// `nil` before the first session.
        var identity: HubIdentity?
        var persons: [Welcome.PersonEntry] = []
        /// What this plugin may write; `nil` before the first session.
        var sharing: Grants.Scope?
        /// What of the owner's this plugin may.
        var rights: [String] = []
        var clock = HubClock.system
    }

    nonisolated let loop: PollLoop
    nonisolated let instance: String
    nonisolated let terms = Mutex(Terms())
    /// Whether the plugin has been asked to stop.
    nonisolated let hasStopRequest = Mutex(false)
    /// Sessions that were opened.
    nonisolated let openings = EventCounter()
    nonisolated let signals: AsyncStream<Signal>
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    nonisolated let spool: SpoolPump
    nonisolated let storeCalls: StoreCalls
    nonisolated let commands: CommandHandler
    nonisolated let questions: HubQuestions
    nonisolated let ownersCommands: OwnersCommands
    nonisolated let sink: SinkDeliveries
    nonisolated let types: TypeDeclarations

    let logger: Logger
    var machine: ClientMachine
    let context: Context
    let address: HubAddress
    let signal: AsyncStream<Signal>.Continuation
    private let origin = ContinuousClock.now

    var socket: Socket?
    var monitor: SocketMonitor?
    var watch: PollLoop.Registration?
    /// Asks what kind of log-in there is, after a handshake that ended without a reason.
    var greeting: PeerGreeting?
    var greetingBegan: ContinuousClock.Instant?
    var timer: PollLoop.Timer?
    var incoming = Multipart()
    /// Whether there is a connection.
    ///
    /// Without one nothing is given to libzmq, so that what a new hub reads first is HELLO. Its own option for that (`ZMQ_IMMEDIATE`) drops
    /// with the connection what came in and was not read yet, STOP among it.
    var isConnected = false
    /// What waits for a connection, or for the socket to take it.
    var outgoing: [OutgoingMessage] = []
    /// What the machine has said and what is not done yet, in its order.
    var due: [ClientAction] = []
    var isPerforming = false
    /// The connection or the session was lost, and there is no new one yet; logged once.
    var isAway = false

    var welcomeWaiters: [CheckedContinuation<Welcome?, Never>] = []
    private var endWaiters: [CheckedContinuation<Void, Never>] = []
    var isStopping = false
    /// While true, `finish` waits until the spool is empty.
    private var isDraining = false
    private var isClosing = false
    private var hasLeft = false
    private var isAbandoned = false
    /// Why the dialogue is over, if it is.
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
        let outlet = HubOutlet()
        spool = SpoolPump(of: state, on: loop, outlet: outlet, logger: logger, report: report)
        storeCalls = StoreCalls(on: loop, outlet: outlet)
        commands = CommandHandler(on: loop, outlet: outlet)
        questions = HubQuestions(on: loop, outlet: outlet)
        ownersCommands = OwnersCommands(on: loop, outlet: outlet)
        sink = SinkDeliveries(on: loop, outlet: outlet, logger: logger)
        self.types = TypeDeclarations(on: loop, outlet: outlet, commands: commands, logger: logger)
        outlet.connect(self)
    }

    /// Milliseconds of a clock that only goes forward.
    var now: Int64 {
        let (seconds, attoseconds) = origin.duration(to: .now).components
        return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }

    /// The one clock of hub and plugins, as of the last WELCOME.
    nonisolated var clock: HubClock { terms.withLock { $0.clock } }

    // MARK: - Life

    /// Connects, now or whenever there is a hub, and says HELLO.
    func open() throws(ZeroMQError) {
        let socket = try Socket(.dealer, in: context)
        try socket.set(.reconnectInterval, to: .milliseconds(100))
        try socket.set(.reconnectIntervalMax, to: .seconds(2))
        try socket.set(.linger, to: .milliseconds(500))
        try socket.set(.maxMessageSize, to: 16 << 20)
        switch address.logIn {
        case .token(let instance, let token):
            try socket.set(.plainUsername, to: instance)
            try socket.set(.plainPassword, to: token)
        case .key(let key):
            try key.apply(to: socket)
        case nil: break
        }
        let monitor = try socket.monitor()
        loop.watch(monitor.events) { [weak self] _ in self?.assumeIsolated { $0.monitorIsReady() } }
        try socket.connect(address.door)
        watch = loop.watch(socket) { [weak self] ready in self?.assumeIsolated { $0.isReady(ready) } }
        self.socket = consume socket
        self.monitor = consume monitor
        step { $0.start(at: $1) }
    }

    /// The terms of the first session, as soon as there is one; nil when the dialogue ended without, or the
    /// plugin is to stop.
    package func welcome() async -> Welcome? {
        if let welcome = machine.welcome, machine.isOpen { return welcome }
        if end != nil || isStopping { return nil }
        return await withCheckedContinuation { welcomeWaiters.append($0) }
    }

    /// Waits for no session any longer.
    func giveUp() {
        for waiter in welcomeWaiters { waiter.resume(returning: nil) }
        welcomeWaiters = []
    }

    /// Why the hub ended the dialogue, if it did.
    var refusal: WireError? {
        if case .fatal(let error)? = end { error } else { nil }
    }

    /// From now on nothing new is taken from callers, and those who wait for the hub are told so.
    func prepareStop() {
        isStopping = true
        giveUp()
        if isClosing, isDraining {
            isDraining = false
            finishIfDrained()
        }
        commands.assumeIsolated { $0.stop() }
        stopParts("the plugin is being stopped before the hub has answered")
    }

    /// Says BYE, when `draining` after the spool is empty, and returns when the hub has answered or `limit` is over.
    /// - Parameter waitsForHub: also while the hub is away; otherwise there is nothing to wait for then.
    func close(draining: Bool, waitsForHub: Bool = false, within limit: Duration) async {
        prepareStop()
        isDraining = draining
        isClosing = true
        if !isDraining { await spool.pause() }
        if waitsForHub && !isAbandoned || machine.isOpen && !isAway { finishIfDrained() } else { leave() }
        // The hub may be ending this process alone, and hears BYE; it may be gone, and no answer comes.
        if isAbandoned { leave() }
        let deadline = loop.schedule(after: limit) { [weak self] in
            self?.assumeIsolated { $0.leave() }
        }
        if !hasLeft { await withCheckedContinuation { endWaiters.append($0) } }
        deadline.cancel()
        await spool.pause()
        await spool.untilQuiet()
        timer?.cancel()
        watch = nil
        monitor = nil
        greeting = nil
        socket = nil
        signal.finish()
    }

    /// The hub's process has ended: what is still open gets no answer, and what is sent is not taken.
    func abandon() {
        isAbandoned = true
        if isClosing { leave() }
    }

    /// The dialogue is over, one way or another.
    func leave() {
        hasLeft = true
        let waiters = endWaiters
        endWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    func finishIfDrained() {
        guard isClosing, !hasLeft, !isDraining || spool.assumeIsolated({ $0.isEmpty }) else { return }
        isDraining = false
        spool.assumeIsolated { $0.pause() }
        step { $0.finish(at: $1) }
    }
}
