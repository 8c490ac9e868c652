import Foundation
import HubStore
import Platform
import Synchronization

/// Looks for backups on separate threads, because a call to an unresponsive disk does not return.
enum BackupLookup {
    struct Found: Sendable, Equatable {
        var backups: [String] = []
        /// Backups on a disk that did not answer in time; they may or may not still be there.
        var unseen: [String] = []
    }

    /// Maximum number of threads that search the folders of one look-up.
    private static let width = 4
    /// Maximum number of blocked threads; above it, no new look-up starts until a thread is released.
    private static let maximumHeld = 16
    private static let held = Atomic(0)

    private struct State {
        var waiting: [String]
        var open: Set<String>
        var found: [String: [String]] = [:]
    }

    /// - Parameter limit: backups in folders that have not answered by then are returned as `unseen`.
    static func found(
        _ search: KnownBackup.Search, of store: String, within limit: Duration
    ) async throws(StoreError) -> Found {
        let known = try KnownBackup.all(of: store)
        // A folder without any suspected backup is searched too, because it may contain other backups.
        let folders = Dictionary(grouping: known) { Folder.parent(of: $0.path) }
        let names = folders.keys.sorted()
        let state = Shared(State(waiting: names.reversed(), open: Set(names)))
        let isDone = Latch()
        if names.isEmpty { isDone.raise() }
        for _ in 0..<min(width, names.count) where held.load(ordering: .relaxed) < maximumHeld {
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
            // Folders that no thread has begun are not searched any more.
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
