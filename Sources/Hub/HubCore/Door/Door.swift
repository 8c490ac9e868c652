import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// The isolation of the door and its parts: one poll loop runs them, so they may own sockets, and they call each other without waiting.
///
/// All hubs of a process share the loop; only tests have more than one. It never ends, because an executor must outlive its jobs.
@globalActor
actor DoorActor {
    static let shared = DoorActor()
    private static let loop = Result { () throws(ZeroMQError) in
        let loop = try PollLoop(name: "hub-door")
        try loop.start()
        return loop
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        guard case .success(let loop) = Self.loop else {
            preconditionFailure("nothing may run on a loop that did not start")
        }
        return loop.asUnownedSerialExecutor()
    }

    /// The loop, which runs from the first call on.
    ///
    /// - Throws: if the system has no thread or file descriptor left; then nothing may be run on this actor.
    static func start() throws(ZeroMQError) -> PollLoop { try loop.get() }
}

/// The entrance for clients: the sockets, and all sessions, on one thread.
///
/// Everything here runs on the poll loop; sockets are made, used and closed on it. The door is always read: only credit slows a client
/// down, and a forbidden message gets an answer at once. The door's parts carry out the requests of sessions, and send by the door.
@DoorActor
final class Door {
    let loop: PollLoop

    private(set) var facts: HubContext { didSet { watchers = facts.watchers } }
    /// The grants of instances that run on a schedule.
    private(set) var watchers: [ReadGrant]
    let store: Store
    let committer: Committer
    let logger: Logger

    var socket: Socket?
    /// The working memory of a turn; empty outside a turn.
    var turn = TurnBuffers()
    /// The message that is being sent; its memory is reused.
    var outgoing = Multipart()

    /// Messages that wait for their turn.
    var backlog = Backlog()
    var isBacklogScheduled = false

    var sessions: SessionTable
    /// The data of each session that is not part of its state.
    var clients: [RoutingID: Client] = [:]
    var greetings = Greetings()
    var log = SessionLog()
    var refusals = RefusalNotices()

    let feeds: Feeds
    var plugins: PluginStates
    /// The tokens of plugins, or why they cannot be used.
    let secrets: Result<SecretStore, StoreError>
    private(set) lazy var gate = ConnectionAuthenticator(of: self)
    private(set) lazy var network = Network(of: self)
    private(set) lazy var deliveries = Deliveries(of: self)
    private(set) lazy var tokens = Tokens(of: self)
    private(set) lazy var storeHealth = StoreHealth(of: self)
    private(set) lazy var questions = QueryService(of: self)
    private(set) lazy var commands = Commands(of: self)
    private(set) lazy var pluginCommands = PluginCommands(of: self)

    init(
        facts: HubContext, store: Store, secrets: Result<SecretStore, StoreError>, committer: Committer, loop: PollLoop,
        context: Context, plugins: PluginStates, logger: Logger
    ) {
        (self.facts, self.store, self.secrets, self.committer) = (facts, store, secrets, committer)
        watchers = facts.watchers
        (self.loop, self.plugins, self.logger) = (loop, plugins, logger)
        sessions = SessionTable(policy: facts.policy)
        sessions.totalCredit = facts.totalCredit
        feeds = Feeds(of: store, on: loop, in: context, facts, logger: logger)
    }

    /// Monotonic milliseconds, as sessions count them.
    var now: Int64 { ContinuousClock.now.millisecondsSinceStart(facts.started) }

    /// Applies a changed `hub.conf`: to new sessions at once, and to the assignment of records in open sessions.
    ///
    /// A session whose WELCOME would have other contents now ends, and greets again to get them.
    /// - Parameter ending: instances whose processes will be stopped anyway; only their sessions at the owner's endpoint end here.
    func adopt(_ facts: HubContext, ending: Set<String>) {
        let before = self.facts
        self.facts = facts
        sessions.totalCredit = facts.totalCredit
        plugins.adopt(instances: facts.plugins.map(\.name), restarting: ending)
        for client in clients.values {
            client.intake.rules = facts.rules
            client.track.forget()
        }
        feeds.adopt(facts)
        for session in sessions.all.values where session.hello.mode == .run {
            let instance = session.hello.instance
            guard !before.isEquivalent(as: facts, to: instance) || ending.contains(instance),
                session.endpoint == .owner || !ending.contains(instance)
            else { continue }
            perform(sessions.dismiss(instance, because: "the hub's configuration has changed"))
        }
        // The owner's rights are withdrawn at once, from sessions of every mode.
        for (peer, client) in clients where client.hello.mode != .run && client.endpoint != .owner {
            let rights = facts.instances[client.hello.instance]?.grants.owner ?? []
            guard client.policy.grants.owner != rights else { continue }
            perform(sessions.dismiss(peer, because: "the hub's configuration has changed"))
        }
        network.followInstances()
        // A network session of any mode must not keep grants that `hub.conf` has withdrawn.
        let remote = Set(sessions.all.values.filter(\.endpoint.isRemote).map(\.hello.instance))
        for instance in remote where !before.isEquivalent(as: facts, to: instance) {
            tokens.hide(nil, of: instance)
            perform(sessions.dismissRemote(instance, because: "the hub's configuration has changed"))
        }
    }
}

// MARK: - Opening and closing

extension Door {
    /// Binds the gate, the door and the feed, in this order: a client that logs in must be answered from the first moment.
    func open(in context: Context, stopCommand: @escaping @Sendable () -> Void) throws(ZeroMQError) {
        commands.stopHub = stopCommand
        try gate.open(in: context)

        let socket = try Socket(.router, in: context)
        try socket.set(.routerMandatory, to: true)
        try socket.set(.maxMessageSize, to: Int64(facts.policy.limits.frameBytes))
        // Maximum number of messages of each peer that libzmq holds before the hub reads them; one may have a MiB. With fewer, libzmq and the hub
        // would wake each other for every few small messages.
        try socket.set(.receiveHighWaterMark, to: 200)
        // Answers are small, and a peer's limits bound their number; the proof of reading bounds their bytes.
        try socket.set(.sendHighWaterMark, to: 20_000)
        try socket.set(.linger, to: .milliseconds(500))
        // First the owner's endpoint, without log-in, but closed to processes that the hub has started; then the plugins' endpoint, which asks the
        // gate. Only the domain makes an endpoint ask the gate: the option that would refuse all peers of an endpoint without a domain
        // (ZMQ_ZAP_ENFORCE_DOMAIN) is a draft, and not in the libzmq of common systems.
        try socket.set(.zapDomain, to: LaunchTokens.ownerDomain)
        try socket.bind(facts.endpoints.door)
        try socket.set(.zapDomain, to: LaunchTokens.doorDomain)
        try socket.set(.plainServer, to: true)
        try socket.bind(facts.endpoints.pluginDoor)
        loop.watch(socket) { [weak self] _ in self?.doorIsReady() }
        self.socket = consume socket

        try feeds.open(self)
        network.open()
        beat()
    }

    /// Asks every plugin to finish; batches that come later are refused and stay with their senders.
    func beginStopping(deadline: Duration) {
        let stop = Stop(reason: "the hub is stopping", deadline: deadline.milliseconds)
        perform(sessions.stop(stop))
    }

    /// Asks one instance to finish.
    ///
    /// - Parameter onlyIfIdle: whether to ask it only if it has nothing to do; no message can come between the check and STOP.
    /// - Returns: whether it was asked.
    @discardableResult
    func beginStopping(
        _ instance: String, because reason: String, deadline: Duration, onlyIfIdle: Bool = false
    ) -> Bool {
        guard !onlyIfIdle || isIdle(instance) else { return false }
        let stop = Stop(reason: reason, deadline: deadline.milliseconds)
        perform(sessions.stop(stop, instance: instance))
        return true
    }

    /// Whether an instance has asked for deliveries, none can be made now, and it has no open command.
    func isIdle(_ instance: String) -> Bool {
        deliveries.isIdle(instance) && !pluginCommands.isAt(instance)
    }

    /// Whether the door is open.
    var isBound: Bool { socket != nil }

    /// Runs once a second: ends sessions that have been silent too long.
    private func beat() {
        guard isBound else { return }
        perform(sessions.tick(at: now))
        deliveries.beat()
        if let omitted = log.omitted(at: now) {
            logger.info("more sessions began or ended", metadata: ["lines": "\(omitted)"])
        }
        loop.schedule(after: .seconds(1)) { [weak self] in self?.beat() }
    }

    /// Closes the sockets; messages that were sent get half a second to leave.
    func close() {
        questions.cancelAll()
        commands.cancelAll()
        clients = [:]
        socket = nil
        feeds.close()
        gate.close()
    }
}

// MARK: - Reports of the supervisor and the configuration

extension Door {
    /// - Parameter report: `nil` if the supervisor no longer manages the instance.
    func note(_ report: LifecycleReport?, of instance: String) {
        plugins.lives[instance] = report
        switch report?.state {
        case nil, .stopped, .waiting, .quarantined, .failed, .finished:
            pluginCommands.cannotStart(instance)
        // Its session had ended before the supervisor learnt that it had begun.
        case .silent where facts.plugins.contains { $0.name == instance && $0.run == nil }:
            pluginCommands.cannotStart(instance)
        default: break
        }
    }

    func note(fallbacks: [String: String]) { plugins.fallbacks = fallbacks }

    /// - Parameter secrets: the secrets that the instance's log hides; learns the tokens that go through the door.
    /// - Returns: the endpoint of the instance's feed.
    func admit(_ instance: String, token: String, _ secrets: InstanceSecrets) -> String {
        gate.tokens.admit(instance, token: token)
        tokens.hide(secrets, of: instance)
        return feeds.open(for: instance)
    }

    /// Revokes the token of an ended process, and ends its sessions.
    func processEnded(_ instance: String) {
        gate.tokens.revoke(instance)
        tokens.hide(nil, of: instance)
        plugins.counters.processEnded(instance)
        feeds.close(of: instance)
        for (peer, session) in sessions.all where session.endpoint == .plugin(user: instance) {
            perform(sessions.gone(peer))
        }
    }
}
