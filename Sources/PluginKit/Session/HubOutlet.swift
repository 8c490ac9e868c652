import HubWire

/// How the parts of a ``HubLink`` speak to the hub: all they know of it.
///
/// Only on the poll loop. Each call takes effect on the machine before it returns; what is to be sent follows in order. Once the link is gone, what is sent goes nowhere.
final class HubOutlet: Sendable {
    /// A batch that the machine has taken, and what is to be done now: ``begin(_:)``.
    typealias Submission = (ticket: BatchTicket, actions: [ClientAction])

    /// Written once, before the loop runs anything of the link.
    private nonisolated(unsafe) weak var link: HubLink?

    func connect(_ link: HubLink) { self.link = link }

    /// The terms of the session that is open.
    var session: Welcome? { link?.assumeIsolated { $0.machine.isOpen ? $0.machine.welcome : nil } }

    /// Whether the plugin is to stop, or the dialogue is over.
    var isStopping: Bool { link?.assumeIsolated { $0.isStopping || $0.end != nil } ?? true }

    var clock: HubClock { link?.clock ?? .system }

    /// The terms of the first session, as soon as there is one; nil when the dialogue ends before, or the plugin is to stop.
    func firstSession() async -> Welcome? { await link?.welcome() }

    /// Sends a message; without an open session it means nothing any more.
    func send(_ message: ClientMessage) {
        link?.assumeIsolated { link in
            if let action = link.machine.message(message) { link.perform([action]) }
        }
    }

    /// Sends what may be dropped; it is while no session is open or the hub does not read.
    func sendIfReady(_ message: ClientMessage) { link?.assumeIsolated { $0.sendIfReady(message) } }

    /// A number that no other question and no batch of this session has.
    func nextNumber() -> Int64 { link?.assumeIsolated { $0.machine.nextNumber() } ?? 0 }

    /// Takes a batch, which is sent by ``begin(_:)``: its answer may come before that returns, so note the ticket first.
    func submit(_ batch: OutgoingBatch) throws(SubmitError) -> Submission {
        guard let link else { throw .closed }
        return try link.assumeIsolated { $0.submit(batch) }.get()
    }

    func begin(_ submission: Submission) {
        let actions = submission.actions
        link?.assumeIsolated { $0.step { _, _ in actions } }
    }

    func hasDeclared(_ types: [TypeDeclaration]) -> Bool {
        link?.assumeIsolated { $0.machine.hasDeclared(types) } ?? false
    }

    func declare(_ types: [TypeDeclaration]) { link?.assumeIsolated { $0.declare(types) } }

    /// Something has left the spool, or was found not to be there.
    func spoolHasChanged() { link?.assumeIsolated { $0.finishIfDrained() } }
}
