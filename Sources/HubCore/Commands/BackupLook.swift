import Files
import Foundation
import HubStore
import Synchronization

/// Looks for backups on threads of its own, because a call on a disk that does not answer does not return.
enum BackupLook {
    struct Found: Sendable, Equatable {
        var backups: [String] = []
        /// Those of them whose disk did not answer in time: whether they are still there is not known.
        var unseen: [String] = []
    }

    /// How many threads look at the folders.
    private static let width = 4
    /// So many that were held by their disks, and no further look is begun until one is released.
    private static let mostHeld = 16
    private static let held = Atomic(0)

    private struct State {
        var waiting: [String]
        var open: Set<String>
        var found: [String: [String]] = [:]
    }

    /// - Parameter limit: what has not answered then is named as not seen.
    static func found(
        _ search: KnownBackup.Search, of store: String, within limit: Duration
    ) async throws(StoreError) -> Found {
        let known = try KnownBackup.all(of: store)
        // Also a folder of which none is suspected may have others beside them.
        let folders = Dictionary(grouping: known) { Folder.parent(of: $0.path) }
        let names = folders.keys.sorted()
        let state = Shared(State(waiting: names.reversed(), open: Set(names)))
        let isDone = Flag()
        if names.isEmpty { isDone.raise() }
        for _ in 0..<min(width, names.count) where held.load(ordering: .relaxed) < mostHeld {
            held.add(1, ordering: .relaxed)
            Thread.detachNewThread {
                defer { held.subtract(1, ordering: .relaxed) }
                while let folder = state.value.withLock({ $0.waiting.popLast() }) {
                    let found = search.found(among: folders[folder] ?? [])
                    let isLast = state.value.withLock { state in
                        state.found[folder] = found
                        state.open.remove(folder)
                        return state.open.isEmpty
                    }
                    if isLast { isDone.raise() }
                }
            }
        }
        await isDone.wait(upTo: limit)
        let ended = state.value.withLock { state in
            // What is not begun by now is not looked at any more.
            state.waiting = []
            return state
        }
        let unseen = search.suspects(among: known.filter { ended.open.contains(Folder.parent(of: $0.path)) })
        return Found(
            backups: names.flatMap { ended.found[$0] ?? unseen[$0] ?? [] }, unseen: names.flatMap { unseen[$0] ?? [] })
    }

    private final class Shared: Sendable {
        let value: Mutex<State>
        init(_ state: State) { value = Mutex(state) }
    }
}
