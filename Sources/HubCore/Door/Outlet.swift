import HubSessions
import HubWire
import Logging
import Samples

/// How the parts of the loop speak to sessions and listeners: all they know of the door.
///
/// Only on the poll loop, where each call takes effect before it returns; also the end of the session it speaks to.
struct Outlet: Sendable {
    private let door: Door

    init(_ door: Door) { self.door = door }

    // MARK: - Sessions

    /// Sends to a session; what is sent to one that is over goes nowhere.
    func send(_ message: HubMessage, to session: SessionReference) {
        door.assumeIsolated { if $0.sessions[session] != nil { $0.send(message, to: session.peer) } }
    }

    /// Answers a request of a session, once; nothing where it is over, or does not wait for it.
    func answer(_ message: HubMessage, to request: SessionRequest, in session: SessionReference) {
        door.assumeIsolated { $0.perform($0.sessions.answer(message, to: request, in: session)) }
    }

    func isOpen(_ session: SessionReference) -> Bool { door.assumeIsolated { $0.sessions[session] != nil } }

    /// Whether the session goes on: not over, and not told STOP.
    func goesOn(_ session: SessionReference) -> Bool {
        door.assumeIsolated { $0.sessions[session].map { !$0.isStopping } ?? false }
    }

    /// The session in which an instance runs.
    func runner(of instance: String) -> SessionReference? {
        door.assumeIsolated { door in door.sessions.runner(of: instance).flatMap { door.sessions.reference(to: $0) } }
    }

    /// Ends the session in which an instance runs; it greets again.
    func dismiss(_ instance: String, because reason: String) {
        door.assumeIsolated { $0.perform($0.sessions.dismiss(instance, because: reason)) }
    }

    /// The sessions of an instance are told that its listeners may not read what they subscribed to.
    func tell(_ instance: String, inVain prefix: [UInt8]) {
        door.assumeIsolated { $0.tell(instance, inVain: prefix) }
    }

    // MARK: - Everything else

    /// What the hub runs with, as it is now.
    var facts: HubFacts { door.assumeIsolated { $0.facts } }

    /// Monotonic milliseconds, as sessions count them.
    var now: Int64 { door.assumeIsolated { $0.now } }

    /// All types that the hub knows: the registry's, and what plugins and scripts have declared since it started.
    var knownTypes: TypeRegistry { door.assumeIsolated { $0.greetings.declared.registry } }

    /// Publishes what does not happen often, after it has learnt who listens.
    func announce(_ topic: Topic, _ body: RawJSON, to readership: Readership) {
        door.assumeIsolated { $0.feeds.announce(topic, body, to: readership) }
    }

    /// What a plugin did, for the owner's listeners.
    func publish(_ news: PluginNews) { door.assumeIsolated { $0.publish(news) } }

    /// What is wrong with an instance, for `hub status`; not grave.
    func note(_ fault: String, of instance: String) {
        door.assumeIsolated { $0.plugins.counters.failed(instance, fault, isGrave: false) }
    }

    /// What the hub says of itself.
    func status(_ reading: StoreReading?, _ store: HubStatus.StoreState) -> HubStatus {
        door.assumeIsolated { $0.status(reading, store) }
    }

    /// Reads the keys of other machines again; what was revoked ends now.
    func reloadKeys() throws(HubError) -> (keys: Int, revoked: [String]) {
        try door.assumeIsolated { door in Result { () throws(HubError) in try door.reloadKeys() } }.get()
    }

    /// A line that peers cause: beyond an allowance they are counted only.
    func log(_ level: Logger.Level, _ message: Logger.Message, _ facts: Logger.Metadata) {
        door.assumeIsolated { $0.logOfSessions(level, message, facts) }
    }
}
