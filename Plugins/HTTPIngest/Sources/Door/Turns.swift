import Synchronization

/// Who may work: one post of a token at a time, and so many of all.
///
/// A place is given back when the work is over, also where its post was answered before, because the hub was away.
final class Turns: Sendable {
    private struct State {
        var busy: Set<String> = []
        var count = 0
    }

    private let state = Mutex(State())
    private let most: Int

    init(most: Int) { self.most = most }

    /// Takes a place; `false` where the token has one, or all are taken.
    func take(_ id: String) -> Bool {
        state.withLock { state in
            guard state.count < most, state.busy.insert(id).inserted else { return false }
            state.count += 1
            return true
        }
    }

    func giveBack(_ id: String) {
        state.withLock { state in
            if state.busy.remove(id) != nil { state.count -= 1 }
        }
    }
}

/// The first of two ends of a piece of work: it is done, or it takes too long.
enum Deadline {
    /// What `work` returns or throws, or `nil` when that takes longer; the work goes on then.
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
