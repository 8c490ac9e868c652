import Synchronization

/// A value that changes, with tasks that wait for a condition on it.
package final class AwaitableValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var lastTicket = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }
    private let state: Mutex<State>

    package init(_ value: Value) { state = Mutex(State(value: value)) }

    package var value: Value { state.withLock(\.value) }

    /// Changes the value, and makes all waiting tasks check it again.
    package func change(_ body: (inout Value) -> Void) {
        let waiting = state.withLock { state in
            body(&state.value)
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until `isMet` holds, the time is over or the task is cancelled.
    ///
    /// - Returns: whether the condition holds.
    @discardableResult
    package func wait(upTo patience: Duration, until isMet: @escaping @Sendable (Value) -> Bool) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in await wait(until: isMet) }
            group.addTask { try? await Task.sleep(for: patience) }
            await group.next()
            group.cancelAll()
        }
        return isMet(value)
    }

    private func wait(until isMet: @Sendable (Value) -> Bool) async {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        while !Task.isCancelled {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isOver = state.withLock { state in
                        guard !isMet(state.value), !Task.isCancelled else { return true }
                        state.waiting[ticket] = continuation
                        return false
                    }
                    if isOver { continuation.resume() }
                }
            } onCancel: {
                state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume()
            }
            if isMet(value) { return }
        }
    }
}
