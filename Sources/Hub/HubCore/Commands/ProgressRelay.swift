import HubWire
import Synchronization

/// Takes the progress of a command from any thread and passes on the latest, so that frequent reports cost little and flood no client.
final class ProgressRelay: Sendable {
    private struct State {
        var latest: CommandProgress?
        var isAwaited = false
    }
    private let state = Mutex(State())
    private let id: Int64
    private let handOver: @Sendable (ProgressRelay) -> Void

    /// - Parameters:
    ///   - id: the asker's number of the command.
    ///   - handOver: called when there is progress to `take`; it is not called again until the progress is taken.
    init(id: Int64, handOver: @escaping @Sendable (ProgressRelay) -> Void) {
        (self.id, self.handOver) = (id, handOver)
    }

    /// - Parameters:
    ///   - done: how much has been done, in any unit that the command counts.
    ///   - total: the total in the same unit, if it is known.
    ///   - text: the current step, for people.
    func callAsFunction(_ done: Int64, of total: Int64? = nil, _ text: String? = nil) {
        let isFirst = state.withLock { state in
            state.latest = CommandProgress(id: id, done: done, total: total, text: text)
            defer { state.isAwaited = true }
            return !state.isAwaited
        }
        if isFirst { handOver(self) }
    }

    func take() -> CommandProgress? {
        state.withLock { state in
            state.isAwaited = false
            return state.latest.take()
        }
    }
}
