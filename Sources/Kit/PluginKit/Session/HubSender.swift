import HubWire

/// The interface through which the parts of a ``HubLink`` send to the hub.
///
/// Call it only on the poll loop. Each call takes effect on the machine before it returns; messages are sent in order. If the link no longer
/// exists, messages are dropped.
final class HubSender: Sendable {
    /// A batch that the machine has accepted, and the actions to perform next with ``begin(_:)``.
    typealias Submission = (ticket: BatchTicket, actions: [ClientAction])

    /// Set once, before the loop runs any code of the link.
    private nonisolated(unsafe) weak var link: HubLink?

    func connect(_ link: HubLink) { self.link = link }

    /// The terms of the open session.
    var session: Welcome? { link?.assumeIsolated { $0.machine.session } }

    /// Whether the plugin has to stop, or the dialogue is over.
    var isStopping: Bool { link?.assumeIsolated { $0.rejectsRequests } ?? true }

    var clock: HubClock { link?.clock ?? .system }

    /// Sends a message that may be dropped; it is dropped if no session is open or the hub does not read.
    func sendIfReady(_ message: ClientMessage) { link?.assumeIsolated { $0.sendIfReady(message) } }

    /// Queues a batch, which ``begin(_:)`` sends: the answer may arrive before `begin` returns, so note the ticket first.
    func submit(_ batch: OutgoingBatch) throws(SubmitError) -> Submission {
        guard let link else { throw .closed }
        return try link.assumeIsolated { $0.submit(batch) }.get()
    }

    func begin(_ submission: Submission) {
        let actions = submission.actions
        link?.assumeIsolated { $0.step { _, _ in actions } }
    }

    /// Checks whether the link can finish, because a record has left the spool or the spool was found empty.
    func spoolHasChanged() { link?.assumeIsolated { $0.finishIfDrained() } }
}
