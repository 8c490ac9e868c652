import Synchronization

/// What must not be cut off when the plugin stops: after a service has renewed a token, and before it is on our disk, this process alone has it.
final class InFlight: Sendable {
    private let state = Mutex((open: 0, waiters: [CheckedContinuation<Void, Never>]()))

    /// Does `body`, for which ``untilNone()`` waits.
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

    /// Returns when nothing is open, also in a task that was cancelled.
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
