/// Runs `body` and cancels it after `limit`; a result that `body` returns despite the cancellation counts.
func withLimit<Value: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let work = Task { try await body() }
    let timer = Task {
        guard (try? await Task.sleep(for: limit)) != nil else { return }
        work.cancel()
    }
    defer { timer.cancel() }
    do {
        return try await work.value
    } catch is CancellationError {
        throw TokenError(.unreachable, "the service did not answer within \(limit)")
    }
}
