import HubStore
import Logging

/// Carries out erasures in the line of the commits, also one that a killed hub has left, and takes away what only waited for sinks.
actor Eraser {
    private let store: Store
    private let committer: Committer
    private let logger: Logger
    private var isChoosing = false

    /// How often it is looked for work that no command waits for.
    private static let interval = Duration.seconds(5)
    /// How long to wait for readers of the log.
    private static let pause = Duration.milliseconds(100)

    init(store: Store, committer: Committer, logger: Logger) {
        (self.store, self.committer, self.logger) = (store, committer, logger)
    }

    /// Erases; from the choice of the records on the hub goes on with it, whether the asker waits or not.
    ///
    /// - Returns: how many records.
    /// - Throws: `busy` while another erasure is under way.
    func erase(
        _ selection: ErasureSelection, forgetting person: String?, removingCopies: Bool,
        progress: @Sendable (Int64, Int64) -> Void
    ) async throws -> Int64 {
        guard !isChoosing, try await store.erasure().map({ $0.stage == .choosing }) ?? true, !isChoosing else {
            throw CommandFailure("busy", "another erasure is under way; hub status says how far it is")
        }
        isChoosing = true
        let total: Int64
        do {
            defer { isChoosing = false }
            total = try await store.beginErasure(
                of: selection, forgetting: person, removingCopies: removingCopies)
        }
        try await finish(progress)
        // What sinks have been told of meanwhile is in the answer as it is, and not as waiting for them.
        while try await !store.removeErasedNames() { try await Task.sleep(for: Self.pause) }
        try await finish { _, _ in }
        return total
    }

    /// Looks for work until the hub stops.
    func run(until leaving: Flag) async {
        while !leaving.isRaised {
            do {
                try await store.removeErasedNames()
                try await finish { _, _ in }
            } catch {
                // A store that does not work says so itself; a hub that stops goes on at its next start.
                logger.debug("an erasure waits", metadata: ["reason": "\(error)"])
            }
            await leaving.wait(upTo: Self.interval)
        }
    }

    private func finish(_ progress: @Sendable (Int64, Int64) -> Void) async throws {
        var total: Int64?
        while let state = try await store.erasure() {
            try Task.checkCancellation()
            switch state.stage {
            case .choosing:
                // Of an earlier hub, or of the command that is choosing now.
                if isChoosing { return }
                try await store.dropErasure()
            case .records:
                total = state.total
                guard try await committer.carryOut(.eraseNext) != nil else {
                    throw CommandFailure(
                        "stopping", "the hub is stopping; it goes on with the erasure when it is started again")
                }
                progress(state.total - state.left, state.total)
            case .words, .files:
                if try await !store.finishErasure() { try await Task.sleep(for: Self.pause) }
            }
        }
        if let total { logger.notice("records were erased", metadata: ["records": "\(total)"]) }
    }
}
