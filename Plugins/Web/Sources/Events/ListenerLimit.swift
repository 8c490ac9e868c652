import HTTPTypes
import Synchronization

/// Limits the number of listeners, so that connections remain for pages and for other visitors.
final class ListenerLimit: Sendable {
    static let most = 256
    /// Maximum for one session or token.
    static let mostEach = 64

    private let taken = Mutex<[String: Int]>([:])

    /// Number of listeners.
    var count: Int { taken.withLock { $0.values.reduce(0, +) } }

    /// A place of a listener, which is freed with this object.
    final class Slot: Sendable {
        private let seats: ListenerLimit
        private let holder: String

        fileprivate init(_ seats: ListenerLimit, _ holder: String) { (self.seats, self.holder) = (seats, holder) }

        deinit { seats.leave(holder) }
    }

    /// - Throws: ``RequestRefusal`` if there is no free place.
    func take(_ viewer: Viewer) throws -> Slot {
        let holder = viewer.session.hash
        let isFree = taken.withLock { taken in
            guard taken.values.reduce(0, +) < Self.most, taken[holder, default: 0] < Self.mostEach else { return false }
            taken[holder, default: 0] += 1
            return true
        }
        guard isFree else {
            throw RequestRefusal(
                .tooManyRequests, "Too many listen",
                "There may be \(Self.most) streams, and \(Self.mostEach) of one log-in or token. End one, and try again.",
                retryAfter: 15)
        }
        return Slot(self, holder)
    }

    private func leave(_ holder: String) {
        taken.withLock { taken in
            taken[holder, default: 1] -= 1
            if taken[holder] == 0 { taken[holder] = nil }
        }
    }
}
