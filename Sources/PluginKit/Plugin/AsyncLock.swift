import Synchronization

/// Lets one task through at a time, in the order in which they asked.
///
/// An actor alone does not do that: while one of its calls waits for the hub or a service, the next begins.
public final class AsyncLock: Sendable {
    private let state = Mutex((isTaken: false, waiters: [CheckedContinuation<Void, Never>]()))

    /// A lock that is free.
    public init() {}

    /// Runs `body` when all that asked before have ended; a wait for the lock is not cancelled.
    ///
    /// `body` must not ask for the same lock: it would wait for itself.
    public func withLock<Value>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async rethrows -> Value {
        await take()
        defer { giveBack() }
        return try await body()
    }

    private func take(isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isTaken { state.waiters.append(continuation) }
                defer { state.isTaken = true }
                return !state.isTaken
            }
            if isFree { continuation.resume() }
        }
    }

    private func giveBack() {
        // It stays taken where one waits, so that no other comes in between.
        let next = state.withLock { state in
            if state.waiters.isEmpty { state.isTaken = false }
            return state.waiters.isEmpty ? nil : state.waiters.removeFirst()
        }
        next?.resume()
    }
}
