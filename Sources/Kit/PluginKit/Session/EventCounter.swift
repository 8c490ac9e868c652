import Synchronization

/// Counts occurrences of an event and wakes the tasks that wait for the next one.
final class EventCounter: Sendable {
    private struct State {
        var count = 0
        var lastWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    }
    private let state = Mutex(State())

    var count: Int { state.withLock(\.count) }

    func note() {
        let waiters = state.withLock { state in
            state.count += 1
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the count exceeds `known`; throws `CancellationError`.
    func wait(beyond known: Int) async throws {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.count <= known, !Task.isCancelled else { return true }
                    state.waiters[number] = continuation
                    return false
                }
                guard isOver else { return }
                continuation.resume(with: Task.isCancelled ? .failure(CancellationError()) : .success(()))
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
            waiter?.resume(throwing: CancellationError())
        }
    }
}
