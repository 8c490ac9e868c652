import HubWire
import Logging
import Samples

/// The interface of the loop's parts to sessions and listeners; they use the door only through it.
///
/// Use it only on the poll loop; each call takes effect before it returns, and may even end the session it sends to.
struct PeerSender: Sendable {
    private let door: Door

    init(_ door: Door) { self.door = door }

    // MARK: - Sessions

    /// Sends to a session; does nothing if the session is over.
    func send(_ message: HubMessage, to session: SessionReference) {
        door.assumeIsolated { if $0.sessions[session] != nil { $0.send(message, to: session.peer) } }
    }

    /// Answers a request of a session once; does nothing if the session is over, or does not wait for the answer.
    func answer(_ message: HubMessage, to request: SessionRequest, in session: SessionReference) {
        door.assumeIsolated { $0.perform($0.sessions.answer(message, to: request, in: session)) }
    }

    func isOpen(_ session: SessionReference) -> Bool { door.assumeIsolated { $0.sessions[session] != nil } }

    /// Whether the session continues: it is not over, and was not sent STOP.
    func isContinuing(_ session: SessionReference) -> Bool {
        door.assumeIsolated { $0.sessions[session].map { !$0.isStopping } ?? false }
    }

    /// The session in which an instance runs.
    func runner(of instance: String) -> SessionReference? {
        door.assumeIsolated { door in door.sessions.runner(of: instance).flatMap { door.sessions.reference(to: $0) } }
    }

    /// Ends the session in which an instance runs; the instance greets again.
    func dismiss(_ instance: String, because reason: String) {
        door.assumeIsolated { $0.perform($0.sessions.dismiss(instance, because: reason)) }
    }

    /// Notifies the sessions of an instance that its listeners subscribed to a prefix that they may not read.
    func tell(_ instance: String, inVain prefix: [UInt8]) {
        door.assumeIsolated { $0.tell(instance, inVain: prefix) }
    }

    // MARK: - Everything else

    /// The current facts of the hub.
    var facts: HubContext { door.assumeIsolated { $0.facts } }

    /// Monotonic milliseconds, as sessions count them.
    var now: Int64 { door.assumeIsolated { $0.now } }

    /// All types that the hub knows: those of the registry, and those that plugins and scripts have declared since it started.
    var knownTypes: TypeRegistry { door.assumeIsolated { $0.greetings.declared.registry } }

    /// Publishes a rare message, after it has updated the list of listeners.
    func announce(_ topic: Topic, _ body: RawJSON, to readership: AllowedReaders) {
        door.assumeIsolated { $0.feeds.announce(topic, body, to: readership) }
    }

    /// Publishes news of a plugin to the owner's listeners.
    func publish(_ news: PluginNotices) { door.assumeIsolated { $0.publish(news) } }

    /// Notes a fault of an instance that is not grave, for `hub status`.
    func note(_ fault: String, of instance: String) {
        door.assumeIsolated { $0.plugins.counters.failed(instance, fault, isSevere: false) }
    }

    /// The hub's status.
    func status(_ reading: StoreStatus?, _ store: HubStatus.StoreState) -> HubStatus {
        door.assumeIsolated { $0.status(reading, store) }
    }

    /// Reads the keys of other machines again, and ends sessions with a revoked key at once.
    func reloadKeys() throws(HubError) -> (keys: Int, revoked: [String]) {
        try door.assumeIsolated { door in Result { () throws(HubError) in try door.reloadKeys() } }.get()
    }

    /// Logs a line that peers cause; lines beyond an allowance are only counted.
    func log(_ level: Logger.Level, _ message: Logger.Message, _ facts: Logger.Metadata) {
        door.assumeIsolated { $0.logOfSessions(level, message, facts) }
    }
}
