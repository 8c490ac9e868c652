import HubSessions
import HubWire
import Logging

/// How a part of the loop speaks to the sessions: all it knows of the door.
///
/// Only on the poll loop, where each call takes effect before it returns; also the end of the session it speaks to.
struct Outlet: Sendable {
    private let door: Door

    init(_ door: Door) { self.door = door }

    /// Sends to a session; what is sent to one that is over goes nowhere.
    func send(_ message: HubMessage, to session: SessionReference) {
        door.assumeIsolated { if $0.sessions[session] != nil { $0.send(message, to: session.peer) } }
    }

    func isOpen(_ session: SessionReference) -> Bool { door.assumeIsolated { $0.sessions[session] != nil } }

    /// Whether the session goes on: not over, and not told STOP.
    func goesOn(_ session: SessionReference) -> Bool {
        door.assumeIsolated { $0.sessions[session].map { !$0.isStopping } ?? false }
    }

    /// What the hub runs with, as it is now.
    var facts: HubFacts { door.assumeIsolated { $0.facts } }

    /// Monotonic milliseconds, as sessions count them.
    var now: Int64 { door.assumeIsolated { $0.now } }

    /// A line that peers cause: beyond an allowance they are counted only.
    func log(_ level: Logger.Level, _ message: Logger.Message, _ facts: Logger.Metadata) {
        door.assumeIsolated { $0.logOfSessions(level, message, facts) }
    }
}
