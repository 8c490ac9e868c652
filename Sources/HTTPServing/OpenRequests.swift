import Synchronization

/// How many requests of all connections wait for an answer, or for the rest of it.
public final class OpenRequests: Sendable {
    private let count = Mutex(0)

    func begin() { count.withLock { $0 += 1 } }

    func end(_ number: Int) { count.withLock { $0 -= number } }

    /// Returns when each has its answer, or when `limit` is over.
    public func untilNone(within limit: Duration) async {
        let end = ContinuousClock.now + limit
        while count.withLock({ $0 > 0 }), ContinuousClock.now < end {
            do { try await Task.sleep(for: .milliseconds(10)) } catch { return }
        }
    }
}
