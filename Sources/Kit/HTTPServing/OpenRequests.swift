import Synchronization

/// The number of requests on all connections that are not completely answered.
public final class OpenRequests: Sendable {
    private let count = Mutex(0)

    func begin() { count.withLock { $0 += 1 } }

    func end(_ number: Int) { count.withLock { $0 -= number } }

    /// Returns when all requests are answered, or after `limit`.
    public func untilNone(within limit: Duration) async {
        let end = ContinuousClock.now + limit
        while count.withLock({ $0 > 0 }), ContinuousClock.now < end {
            do { try await Task.sleep(for: .milliseconds(10)) } catch { return }
        }
    }
}
