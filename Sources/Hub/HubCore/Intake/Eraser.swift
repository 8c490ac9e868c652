import HubStore
import HubWire
import Logging

/// Carries out erasures in the line of the commits, including one that a killed hub has left, and removes names that waited only for sinks.
actor Eraser {
    private let store: Store
    private let committer: Committer
    private let logger: Logger
    /// Whether an erasure of a command is in progress.
    private var isAtWork = false

    /// How often to look for work that no command waits for.
    private static let interval = Duration.seconds(5)
    /// Maximum time between two scans of the names that wait for sinks.
    private static let longestPause = Duration.seconds(300)
    /// How often failed erasures are retried.
    private static let retryInterval = Duration.seconds(3_600)
    /// How long to wait for readers of the log.
    private static let pause = Duration.milliseconds(100)

    init(store: Store, committer: Committer, logger: Logger) {
        (self.store, self.committer, self.logger) = (store, committer, logger)
    }

    /// Erases records; once they are chosen, the hub continues even if the asker does not wait.
    ///
    /// - Returns: the number of erased records.
    /// - Throws: `busy` while another erasure is in progress; `interrupted` if the task is cancelled before the records are chosen.
    func erase(
        _ selection: ErasureSelection, forgetting person: String?, removingCopies: Bool,
        progress: @Sendable (Int64, Int64) -> Void
    ) async throws -> Int64 {
        guard !isAtWork, try await store.erasure().map({ $0.stage == .choosing }) ?? true, !isAtWork else {
            throw OwnCommandFailure("busy", "another erasure is under way; hub status shows its progress")
        }
        isAtWork = true
        defer { isAtWork = false }
        _ = try await store.beginErasure(of: selection, forgetting: person, removingCopies: removingCopies)
        let erased = try await finish(forCommand: true, progress)
        // Remove names now whose sinks have been notified meanwhile, so that the answer does not list them as waiting.
        while try await !store.removeErasedNames() { try await Task.sleep(for: Self.pause) }
        _ = try await finish(forCommand: true) { _, _ in }
        return erased
    }

    /// Looks for work until the hub stops.
    func run(until leaving: Latch) async {
        var lastTry: ContinuousClock.Instant?
        var namesAreDue = ContinuousClock.now
        while !leaving.isRaised {
            do {
                if lastTry.map({ $0.duration(to: .now) >= Self.retryInterval }) ?? true, try await store.retryErasure()
                {
                    lastTry = .now
                }
                // If many names wait for a sink, scanning them must not take all of the hub's time.
                if namesAreDue <= .now {
                    let began = ContinuousClock.now
                    try await store.removeErasedNames()
                    namesAreDue = .now + Self.pause(after: began.duration(to: .now))
                }
                // Also finishes the remaining work of a command soon.
                _ = try await finish(forCommand: false) { _, _ in }
            } catch {
                // A store that fails is reported elsewhere; a hub that stops continues at its next start.
                logger.debug("an erasure waits", metadata: ["reason": "\(error)"])
            }
            await leaving.wait(upTo: Self.interval)
        }
    }

    /// How long to pause after a scan of the names that took `duration`.
    static func pause(after duration: Duration) -> Duration { min(duration * 10, longestPause) }

    /// - Parameter forCommand: whether a command waits for it; if not, an erasure that a command has begun is left to that command.
    /// - Returns: the number of erased records.
    private func finish(forCommand: Bool, _ progress: @Sendable (Int64, Int64) -> Void) async throws -> Int64 {
        var erased: Int64 = 0
        var failed: [Int64] = []
        while let state = try await store.erasure(), forCommand || !isAtWork {
            try Task.checkCancellation()
            switch state.stage {
            case .choosing: try await store.dropErasure()
            case .records:
                guard let results = try await committer.carryOut(.eraseNext) else {
                    throw OwnCommandFailure(
                        "stopping", "the hub is stopping; it goes on with the erasure when it is started again")
                }
                for result in results where !result.isDerived {
                    if case .rejected(let rejection) = result.result {
                        if rejection.code == ErasureFault.code { failed.append(result.number) }
                    } else {
                        erased += 1
                    }
                }
                progress(state.total - state.left, state.total)
            case .words, .files:
                if try await !store.finishErasure() { try await Task.sleep(for: Self.pause) }
            }
        }
        if erased > 0 { logger.notice("records were erased", metadata: ["records": "\(erased)"]) }
        if !failed.isEmpty {
            logger.warning(
                "records could not be erased and are tried again every hour; hub status says why",
                metadata: ["records": "\(failed.count)", "first": "\(failed[0])"])
        }
        return erased
    }
}
