import Synchronization

/// Tracks work that must not be interrupted when the plugin stops: between a service's renewal of a token and our disk, only this process has
/// the token.
final class InFlight: Sendable {
    private let state = Mutex((open: 0, waiters: [CheckedContinuation<Void, Never>]()))

    /// Runs `body`; ``untilNone()`` waits for its end.
    func during<Value>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async rethrows -> Value {
        state.withLock { $0.open += 1 }
        defer {
            let waiters = state.withLock { state in
                state.open -= 1
                defer { if state.open == 0 { state.waiters = [] } }
                return state.open == 0 ? state.waiters : []
            }
            for waiter in waiters { waiter.resume() }
        }
        return try await body()
    }

    /// Returns when no work is in progress, even in a cancelled task.
    func untilNone() async {
        await withCheckedContinuation { continuation in
            let isNone = state.withLock { state in
                if state.open > 0 { state.waiters.append(continuation) }
                return state.open == 0
            }
            if isNone { continuation.resume() }
        }
    }
}
