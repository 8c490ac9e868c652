import HubSessions
import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// Where clients come in: the sockets, and all sessions, on one thread.
///
/// Everything here runs on the poll loop; sockets are made, used and closed on it. The door is always read: a client is slowed by its
/// credit alone, and what it may not do is answered, not left lying. What sessions ask for is done by the ``parts``.
actor Door {
    let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private(set) var facts: HubFacts { didSet { watchers = facts.watchers } }
    /// What the instances that run now and then may read.
    private(set) var watchers: [ReadGrant]
    let store: Store
    let committer: Committer
    let logger: Logger

    var socket: Socket?
    let gate: Gate
    /// What a turn works with; empty but in a turn.
    var turn = DoorTurn()
    /// What is sent, one message at a time; its memory is used again.
    var outgoing = Multipart()

    /// What has come in and waits for its turn.
    var backlog = Backlog()
    var isBacklogScheduled = false

    var sessions: SessionTable
    /// Of each session what the hub keeps beside its state.
    var clients: [RoutingID: Client] = [:]
    var greetings = Greetings()
    var log = SessionLog()
    var refusals = RefusalNews()

    let feeds: Feeds
    var plugins: PluginStates
    private(set) lazy var parts = DoorParts(of: self, secrets)
    /// The tokens of plugins, or why they cannot be used.
    private let secrets: Result<SecretStore, StoreError>

    init(
        facts: HubFacts, store: Store, secrets: Result<SecretStore, StoreError>, committer: Committer, loop: PollLoop,
        context: Context, plugins: PluginStates, logger: Logger
    ) {
        (self.facts, self.store, self.secrets, self.committer) = (facts, store, secrets, committer)
        watchers = facts.watchers
        (self.loop, self.plugins, self.logger) = (loop, plugins, logger)
        sessions = SessionTable(policy: facts.policy)
        sessions.totalCredit = facts.totalCredit
        gate = Gate(in: context, Network(facts.network), logger: logger)
        feeds = Feeds(of: store, on: loop, in: context, facts, logger: logger)
    }

    /// Monotonic milliseconds, as sessions count them.
    var now: Int64 { ContinuousClock.now.millisecondsSinceStart(facts.started) }

    /// Follows a changed `hub.conf`: new sessions are judged by it at once, records of open ones too, for whose they are.
    ///
    /// A session to whom WELCOME would say something else now ends, to greet again and hear it.
    /// - Parameter ending: instances whose processes are told to stop anyway; only sessions of programs started by hand end here.
    func adopt(_ facts: HubFacts, ending: Set<String>) {
        let before = self.facts
        self.facts = facts
        sessions.totalCredit = facts.totalCredit
        plugins.adopt(instances: facts.plugins.map(\.name), restarting: ending)
        for client in clients.values {
            client.intake.rules = facts.rules
            client.track.forget()
        }
        feeds.adopt(facts)
        announcePersons(since: before)
        for session in sessions.all.values where session.hello.mode == .run {
            let instance = session.hello.instance
            guard !before.saysTheSame(as: facts, to: instance) || ending.contains(instance),
                session.endpoint == .owner || !ending.contains(instance)
            else { continue }
            perform(sessions.dismiss(instance, because: "the hub's configuration has changed"))
        }
        // What is the owner's is taken at once, from sessions of every mode.
        for (peer, client) in clients where client.hello.mode != .run && client.endpoint != .owner {
            let rights = facts.instances[client.hello.instance]?.grants.owner ?? []
            guard client.policy.grants.owner != rights else { continue }
            perform(sessions.dismiss(peer, because: "the hub's configuration has changed"))
        }
        followRemoteInstances()
        // Over the network grants are a promise: no session goes on with what it was granted before, whatever its mode.
        let remote = Set(sessions.all.values.filter(\.endpoint.isRemote).map(\.hello.instance))
        for instance in remote where !before.saysTheSame(as: facts, to: instance) {
            parts.tokens.assumeIsolated { $0.hide(nil, of: instance) }
            perform(sessions.dismissRemote(instance, because: "the hub's configuration has changed"))
        }
    }
}

extension Door {
    /// Tells the owner's listeners of whom `hub.conf` says something else now (R8.61).
    private func announcePersons(since before: HubFacts) {
        func byName(_ persons: [HubPerson]) -> [String: HubPerson] {
            Dictionary(persons.map { ($0.name, $0) }) { first, _ in first }
        }
        let (old, new) = (byName(before.persons), byName(facts.persons))
        for name in Set(old.keys).union(new.keys).sorted() where old[name] != new[name] {
            let event = old[name] == nil ? "added" : new[name] == nil ? "removed" : "changed"
            let body = ["person": name, "event": event, "time": facts.clock.time.text]
            feeds.announce(.person, RawJSON(encoding: body), to: .owner)
        }
    }
}

/// What works beside the door on its loop, each part an actor of its own.
///
/// The door calls them by `assumeIsolated`, without waiting; they speak to sessions through the ``Outlet``.
final class DoorParts: Sendable {
    let deliveries: Deliveries
    let commands: Commands
    let questions: Questions
    let tokens: Tokens
    let storeHealth: StoreHealth

    init(of door: isolated Door, _ secrets: Result<SecretStore, StoreError>) {
        let (loop, store, logger, outlet) = (door.loop, door.store, door.logger, Outlet(door))
        deliveries = Deliveries(of: store, on: loop, outlet: outlet, logger: logger)
        tokens = Tokens(in: secrets, on: loop, outlet: outlet, logger: logger)
        storeHealth = StoreHealth(
            of: store, secrets, committer: door.committer, on: loop, outlet: outlet, logger: logger)
        questions = Questions(of: store, storeHealth, on: loop, outlet: outlet)
        commands = Commands(
            store: store, secrets: secrets, committer: door.committer, deliveries: deliveries, on: loop,
            outlet: outlet, logger: logger)
    }
}

// MARK: - Opening and closing

extension Door {
    /// Binds the gate, the door and the feed, in this order: a client that logs in must be answered from the first moment.
    func open(in context: Context, stopCommand: @escaping @Sendable () -> Void) throws(ZeroMQError) {
        parts.commands.assumeIsolated { $0.stopHub = stopCommand }
        try gate.open(on: loop) { [weak self] request in
            self?.assumeIsolated { $0.verdict(on: request) } ?? .refuse("the hub has ended")
        }

        let socket = try Socket(.router, in: context)
        try socket.set(.routerMandatory, to: true)
        try socket.set(.maxMessageSize, to: Int64(facts.policy.limits.frameBytes))
        // libzmq holds so many messages of each peer before we see them, and one may be a MiB; with fewer, it and we wake each other for
        // every few small ones.
        try socket.set(.receiveHighWaterMark, to: 200)
        // Answers are small and bounded by what a peer may ask for; bytes are bounded by the proof of reading.
        try socket.set(.sendHighWaterMark, to: 20_000)
        try socket.set(.linger, to: .milliseconds(500))
        // The owner's endpoint first, without log-in, though not for what the hub has started; then the plugins', which ask the gate. What makes an endpoint ask is its domain
        // alone: the option that would refuse everyone where none is named (ZMQ_ZAP_ENFORCE_DOMAIN) is a draft, and not in the libzmq
        // that systems have.
        try socket.set(.zapDomain, to: LaunchTokens.ownerDomain)
        try socket.bind(facts.endpoints.door)
        try socket.set(.zapDomain, to: LaunchTokens.doorDomain)
        try socket.set(.plainServer, to: true)
        try socket.bind(facts.endpoints.pluginDoor)
        loop.watch(socket) { [weak self] _ in self?.assumeIsolated { $0.doorIsReady() } }
        self.socket = consume socket

        try feeds.open(Outlet(self))
        openNetwork()
        beat()
    }

    /// Asks every plugin to finish; batches that come from now on are refused and stay with their senders.
    func beginStopping(deadline: Duration) {
        let stop = Stop(reason: "the hub is stopping", deadline: Int64(deadline / .milliseconds(1)))
        perform(sessions.stop(stop))
    }

    /// Asks one instance to finish.
    ///
    /// - Parameter onlyIfIdle: not where it has something to do: nothing can come between that look and STOP.
    /// - Returns: whether it was asked.
    @discardableResult
    func beginStopping(
        _ instance: String, because reason: String, deadline: Duration, onlyIfIdle: Bool = false
    ) -> Bool {
        guard !onlyIfIdle || isIdle(instance) else { return false }
        let stop = Stop(reason: reason, deadline: Int64(deadline / .milliseconds(1)))
        perform(sessions.stop(stop, instance: instance))
        return true
    }

    /// Whether an instance has asked for deliveries, there is nothing to give it now, and it is at no command.
    func isIdle(_ instance: String) -> Bool {
        parts.deliveries.assumeIsolated { $0.isIdle(instance) } && !parts.commands.assumeIsolated { $0.isAt(instance) }
    }

    /// Once a second: ends sessions that have been silent too long.
    private func beat() {
        perform(sessions.tick(at: now))
        parts.deliveries.assumeIsolated { $0.beat() }
        if let omitted = log.omitted(at: now) {
            logger.info("more sessions began or ended", metadata: ["lines": "\(omitted)"])
        }
        loop.schedule(after: .seconds(1)) { [weak self] in self?.assumeIsolated { $0.beat() } }
    }

    /// Closes the sockets; what was sent gets half a second to leave.
    func close() {
        parts.questions.assumeIsolated { $0.cancelAll() }
        parts.commands.assumeIsolated { $0.cancelAll() }
        clients = [:]
        socket = nil
        feeds.close()
        gate.close()
    }
}
