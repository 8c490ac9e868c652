import HubWire
import Synchronization

/// Notifies the supervisor, from the door's thread, which instances have a session, and for which instances records were stored.
///
/// Its size is bounded whatever a plugin does: only the changes since the last check are kept, one entry per instance.
final class SessionChanges: Sendable {
    struct Change: Sendable, Hashable {
        /// Whether a session began since the last check, even if it is over.
        var began = false
        /// Whether there is a session now.
        var isOpen = false
    }
    private let changes = Mutex<[String: Change]>([:])
    private let news = Mutex<Set<String>>([])
    /// Yields one element for any number of changes.
    let rings: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation

    init() { (rings, ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func sessionBegan(_ instance: String) {
        changes.withLock { $0[instance] = Change(began: true, isOpen: true) }
        ring.yield()
    }

    func sessionEnded(_ instance: String) {
        changes.withLock { $0[instance, default: Change()].isOpen = false }
        ring.yield()
    }

    func take() -> [String: Change] {
        changes.withLock { changes in
            defer { changes = [:] }
            return changes
        }
    }

    func stored(for instances: [String]) {
        guard news.withLock({ news in instances.contains { news.insert($0).inserted } }) else { return }
        ring.yield()
    }

    func takeStored() -> Set<String> {
        news.withLock { news in
            defer { news = [] }
            return news
        }
    }

    /// Ends ``rings``.
    func finish() { ring.finish() }
}
