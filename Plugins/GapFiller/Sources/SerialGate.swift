/// Lets one through at a time, in the order they came.
///
/// An actor alone does not: while it waits for the hub, the next call would begin.
actor SerialGate {
    private var isTaken = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    /// Runs `body` when everything that came before has ended.
    func pass<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        if isTaken { await withCheckedContinuation { waiters.append($0) } }
        isTaken = true
        defer { leave() }
        return try await body()
    }

    private func leave() {
        // It stays taken while it is handed on, so that nobody slips in between.
        if waiters.isEmpty { isTaken = false } else { waiters.removeFirst().resume() }
    }
}
