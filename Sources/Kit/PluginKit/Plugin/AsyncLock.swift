import Synchronization

/// A lock that admits one task at a time, in the order of their calls.
///
/// An actor alone does not do that: while one of its calls waits for the hub or a service, the next call begins.
public final class AsyncLock: Sendable {
    private let state = Mutex((isTaken: false, waiters: [CheckedContinuation<Void, Never>]()))

    /// Creates an unlocked lock.
    public init() {}

    /// Runs `body` when all earlier holders have finished; cancellation does not end the wait for the lock.
    ///
    /// `body` must not take the same lock: it would deadlock.
    public func withLock<Value>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async rethrows -> Value {
        await take()
        defer { unlock() }
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

    private func unlock() {
        // Keep the lock taken if a task waits, so that no other task takes it in between.
        let next = state.withLock { state in
            if state.waiters.isEmpty { state.isTaken = false }
            return state.waiters.isEmpty ? nil : state.waiters.removeFirst()
        }
        next?.resume()
    }
}
