import Glibc
import HubStore
import HubWire
import Samples

/// The newest backup of the store that `hub backup` has made, from the list beside the store; no other disk is accessed.
struct BackupWatch {
    private let store: String
    private var seen: (seconds: Int, nanoseconds: Int, bytes: Int)?
    private(set) var newest: KnownBackup?

    init(of store: String) { self.store = store }

    /// Reads the list again if it has changed.
    mutating func look() {
        var list = stat()
        guard stat(KnownBackup.list(store), &list) == 0 else {
            (seen, newest) = (nil, nil)
            return
        }
        let now = (Int(list.st_mtim.tv_sec), Int(list.st_mtim.tv_nsec), Int(list.st_size))
        if let seen, seen == now { return }
        guard let all = try? KnownBackup.all(of: store) else { return }
        (seen, newest) = (now, all.last { $0.head != nil })
    }
}

extension HubStatus.Backup {
    /// - Parameters:
    ///   - epoch: the current epoch of the store.
    ///   - head: the newest sequence of the store.
    init(_ backup: KnownBackup, epoch: String, head: Int64) {
        self.init(
            path: backup.path, time: backup.time.map { Timestamp(microseconds: $0).text },
            behind: backup.epoch == epoch ? backup.head.map { max(0, head - $0) } : nil)
    }
}
