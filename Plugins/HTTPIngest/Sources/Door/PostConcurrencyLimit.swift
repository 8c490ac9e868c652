import Synchronization

/// Limits the posts in progress: one per token, and a maximum over all tokens.
///
/// A place is freed when the work ends, even if its post was answered earlier because the hub was away.
final class PostConcurrencyLimit: Sendable {
    private struct State {
        var busy: Set<String> = []
        var count = 0
    }

    private let state = Mutex(State())
    private let most: Int

    init(most: Int) { self.most = most }

    /// Takes a place; false if the token already has one, or all are taken.
    func take(_ id: String) -> Bool {
        state.withLock { state in
            guard state.count < most, state.busy.insert(id).inserted else { return false }
            state.count += 1
            return true
        }
    }

    func releaseSlot(_ id: String) {
        state.withLock { state in
            if state.busy.remove(id) != nil { state.count -= 1 }
        }
    }
}

/// Runs a piece of work with a time limit.
enum PostTimeLimit {
    /// Returns or throws the result of `work`, or returns nil after `time`; the work then continues.
    static func run<Value: Sendable>(
        _ time: Duration, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        let (stream, ends) = AsyncStream<Result<Value, any Error>?>.makeStream(bufferingPolicy: .bufferingOldest(1))
        Task {
            do { ends.yield(.success(try await work())) } catch { ends.yield(.failure(error)) }
        }
        let clock = Task {
            try await Task.sleep(for: time)
            ends.yield(nil)
        }
        defer { clock.cancel() }
        for await end in stream { return try end?.get() }
        return nil
    }
}
