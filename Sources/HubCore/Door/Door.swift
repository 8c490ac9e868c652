import HubSessions
import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// The door and the feeds: their sockets, all sessions, one thread.
///
/// Everything here runs on the poll loop; sockets are made, used and closed on it. The door is always read: a peer is slowed by its credit
/// alone, and what it may not do is answered, not left lying.
actor Door {
    let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private(set) var facts: HubFacts
    let store: Store
    /// The tokens of plugins, or why they cannot be used.
    let secrets: Result<SecretStore, StoreError>
    let committer: Committer
    let logger: Logger
    let context: Context

    var socket: Socket?
    /// The owner's first, then those of instances.
    var feeds: [Feed] = [] { didSet { feedChanges.note() } }
    let feedChanges = FeedChanges()
    /// Those that get what is being published.
    var chosen: [Feed] = []
    /// Which of the feed endpoints an instance has, as long as the hub runs.
    var feedNumbers: [String: Int] = [:]
    var gate: Socket?
    var network: Network
    /// What is received and what is sent, one message at a time; their memory is used again.
    var incoming = Multipart()
    var outgoing = Multipart()
    /// Empty but in a turn of the door.
    var lane = LiveBurst()

    var sessions: SessionTable
    /// Begins the name of each session, so that none of this hub's has one's of the hub before (R4.31).
    let sessionPrefix = String(UInt64.random(in: 0 ... .max), radix: 36)
    /// What the hub keeps for each session beside its state.
    var clients: [RoutingID: Client] = [:]
    var tokens = LaunchTokens()
    var declared = DeclaredTypes()
    var ledger: InstanceCounters
    var devices: DeviceTable {
        didSet {
            if devices != oldValue { deviceMemory.note(devices, mayWait: devices.saysTheSame(as: oldValue)) }
        }
    }
    let deviceMemory: DeviceMemory
    private(set) lazy var deliveries = Deliveries(of: store, on: loop, outlet: Outlet(self), logger: logger)
    var pulse = Pulse()
    /// The record and the place that are being published; memory used again.
    var (encoded, placeText): ([UInt8], [UInt8]) = ([], [])
    /// How often the door has looked at the clocks: the messages between two readings have the same time.
    var clockReads = 0
    /// The store's last failure, until a commit succeeds again.
    var storeFault: StoreError?
    var roomWatch = SpaceWatch()
    /// What the store is being asked for `hub status`, and since when.
    var storeReading: (task: Task<Result<StoreReading, StoreError>, Never>, began: Int64)?
    /// Whether the log was told that confirmed records stay in the store's log.
    var hasToldOfCheckpoint = false
    var onStopCommand: (@Sendable () -> Void)?
    var questions = QuestionQueue()
    var commands: [CommandKey: RunningCommand] = [:]
    var relay = CommandRelay()
    var relayTimer: PollLoop.Timer?
    var leases = TokenLeases()
    /// Of the instances whose process runs.
    var instanceSecrets: [String: InstanceSecrets] = [:]
    /// What the supervisor says of the instances it runs.
    var lives: [String: LifeReport] = [:]
    /// Hears which instances have a session.
    let bell: SessionChanges
    let lifePolicy: LifePolicy
    /// Who carries out what a person asks about plugins; not there until they are started.
    weak var supervisor: Supervisor?
    /// Who follows `hub.conf`; as above.
    weak var keeper: ConfigurationKeeper?
    /// Why instances run with their former settings.
    private(set) var fallbacks: [String: String] = [:]
    var sessionLog = TokenBucket(size: 100, rate: 1, in: 10_000, now: 0)
    /// By `now`: when the log was last told what it does not show, and when peers were last looked for.
    var (toldOfOmittedAt, probedPeersAt): (Int64, Int64) = (0, -1_000)

    init(
        facts: HubFacts, store: Store, secrets: Result<SecretStore, StoreError>, committer: Committer, loop: PollLoop,
        context: Context, devices: DeviceMemory,
        bell: SessionChanges = SessionChanges(), lifePolicy: LifePolicy = LifePolicy(), logger: Logger
    ) {
        (self.bell, self.lifePolicy) = (bell, lifePolicy)
        (self.facts, self.store, self.secrets, self.committer) = (facts, store, secrets, committer)
        (self.loop, self.context, self.logger) = (loop, context, logger)
        deviceMemory = devices
        self.devices = DeviceTable(remembered: devices.read())
        self.devices.adopt(instances: facts.plugins.map(\.name))
        sessions = SessionTable(policy: facts.policy)
        network = Network(facts.network)
        ledger = InstanceCounters(instances: facts.plugins.map(\.name))
    }

    /// Monotonic milliseconds, as sessions count them.
    var now: Int64 { ContinuousClock.now.millisecondsSinceStart(facts.started) }
}

// MARK: - Changing

extension Door {
    /// Follows a changed `hub.conf`: new sessions are judged by it at once, records of open ones too, for whose they are.
    ///
    /// A session to whom WELCOME would say something else now ends, to greet again and hear it.
    /// - Parameter ending: instances whose processes are told to stop anyway; only sessions of programs started by hand end here.
    func adopt(_ facts: HubFacts, ending: Set<String>) {
        let before = self.facts
        self.facts = facts
        ledger.adopt(instances: facts.plugins.map(\.name))
        devices.adopt(instances: facts.plugins.map(\.name))
        for client in clients.values {
            client.intake.rules = facts.rules
            client.track.forget()
        }
        for feed in feeds { feed.grant = feed.grant.map { facts.reading(of: $0.instance) } }
        for session in sessions.all.values where session.hello.mode == .run {
            let instance = session.hello.instance
            guard !before.saysTheSame(as: facts, to: instance) || ending.contains(instance),
                session.endpoint == .owner || !ending.contains(instance)
            else { continue }
            perform(sessions.dismiss(instance, because: "the hub's configuration has changed"))
        }
        followRemoteInstances()
        // Over the network grants are a promise: no session goes on with what it was granted before, whatever its mode.
        let remote = Set(sessions.all.values.filter(\.endpoint.isRemote).map(\.hello.instance))
        for instance in remote where !before.saysTheSame(as: facts, to: instance) {
            instanceSecrets[instance] = nil
            perform(sessions.dismissRemote(instance, because: "the hub's configuration has changed"))
        }
    }
}

// MARK: - Opening and closing

extension Door {
    /// Binds the gate, the door and the feed, in this order: whoever may log in must be answered from the first moment.
    func open(stopCommand: @escaping @Sendable () -> Void) throws(ZeroMQError) {
        onStopCommand = stopCommand
        let gate = try Socket(.rep, in: context)
        try gate.bind(ZAPRequest.endpoint)
        loop.watch(gate) { [weak self] _ in self?.assumeIsolated { $0.gateIsReady() } }
        self.gate = consume gate

        let socket = try Socket(.router, in: context)
        try socket.set(.routerMandatory, to: true)
        try socket.set(.maxMessageSize, to: Int64(facts.policy.limits.frameBytes))
        // libzmq holds so many messages of each peer before we see them, and one may be a MiB; with fewer, it and we wake each other for
        // every few small ones.
        try socket.set(.receiveHighWaterMark, to: 200)
        // Answers are small and bounded by what a peer may ask for; bytes are bounded by the proof of reading.
        try socket.set(.sendHighWaterMark, to: 20_000)
        try socket.set(.linger, to: .milliseconds(500))
        // The owner's endpoint first, without log-in; then the plugins', which ask the gate. What makes an endpoint ask is its domain
        // alone: the option that would refuse everyone where none is named (ZMQ_ZAP_ENFORCE_DOMAIN) is a draft, and not in the libzmq
        // that systems have.
        try socket.bind(facts.endpoints.door)
        try socket.set(.zapDomain, to: LaunchTokens.doorDomain)
        try socket.set(.plainServer, to: true)
        try socket.bind(facts.endpoints.pluginDoor)
        loop.watch(socket) { [weak self] _ in self?.assumeIsolated { $0.doorIsReady() } }
        self.socket = consume socket

        try openFeed()
        openNetwork()
        beat()
        pulseRegularly()
    }

    /// Asks every plugin to finish; batches that come from now on are refused and stay with their senders.
    func beginStopping(deadline: Duration) {
        let stop = Stop(reason: "the hub is stopping", deadline: Int64(deadline / .milliseconds(1)))
        perform(sessions.stop(stop))
    }

    /// From now on a person can ask for something about plugins.
    func serve(_ supervisor: Supervisor, _ keeper: ConfigurationKeeper) {
        (self.supervisor, self.keeper) = (supervisor, keeper)
    }

    func note(fallbacks: [String: String]) { self.fallbacks = fallbacks }

    /// Asks one instance to finish.
    func beginStopping(_ instance: String, because reason: String, deadline: Duration) {
        let stop = Stop(reason: reason, deadline: Int64(deadline / .milliseconds(1)))
        perform(sessions.stop(stop, instance: instance))
    }

    /// Closes the sockets; what was sent gets half a second to leave.
    func close() {
        for client in clients.values {
            for task in client.questions.values { task.cancel() }
        }
        for command in commands.values { command.cancel() }
        clients = [:]
        socket = nil
        for feed in feeds { feed.close() }
        feeds = []
        gate = nil
    }
}
