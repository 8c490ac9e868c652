import Glibc
import HubStore
import Platform

/// The free space on the store's disk, and the sizes of the store's files.
struct StoreSpace: Hashable, Sendable {
    /// Bytes that this user may still write to the store's disk, and the size of the disk.
    var free, total: Int64
    /// The size of its file, and of the write-ahead log.
    var size, log: Int64
    /// The other programs that prevent a long log from being truncated.
    var readers: [String] = []

    /// The current values; `nil` if the system does not report them.
    init?(store path: String) {
        var disk = statvfs()
        guard statvfs(Folder.parent(of: path), &disk) == 0 else { return nil }
        let unit = Int64(disk.f_frsize)
        (free, total) = (Int64(clamping: disk.f_bavail) * unit, Int64(clamping: disk.f_blocks) * unit)
        var file = stat()
        size = stat(path, &file) == 0 ? Int64(file.st_size) : 0
        log = stat(path + "-wal", &file) == 0 ? Int64(file.st_size) : 0
        if log > StoreSpace.longLog / 2 { readers = LockHolders.others(of: path) }
    }

    init(free: Int64, total: Int64, size: Int64 = 0, log: Int64 = 0, readers: [String] = []) {
        (self.free, self.total, self.size, self.log, self.readers) = (free, total, size, log, readers)
    }

    /// Below this, space is low: a fiftieth of the disk, but at least 200 MB, and never more than 2 GB.
    var floor: Int64 { max(200_000_000, min(2_000_000_000, total / 50)) }

    /// The log is truncated at 16 MB unless a program reads for very long.
    static let longLog: Int64 = 512_000_000
}

/// Detects changes of the free space that a person should know.
struct SpaceWatch {
    private(set) var room: StoreSpace?
    private(set) var isLow = false
    private(set) var isLogLong = false

    /// The change, as a text for the log and `hub/notice/`; `nil` if nothing changed.
    mutating func look(_ room: StoreSpace, at path: String) -> (isGood: Bool, text: String)? {
        let before = warning(path)
        self.room = room
        // The warning ends only with a little more space than the floor; otherwise it would come and go with every file.
        isLow = room.free < (isLow ? room.floor + room.floor / 4 : room.floor)
        isLogLong = room.log > (isLogLong ? StoreSpace.longLog / 2 : StoreSpace.longLog)
        let now = warning(path)
        guard (before == nil) != (now == nil) else { return nil }
        return now.map { (false, $0) } ?? (true, "there is room again on the store's disk")
    }

    /// One line with the problem and the remedy; `nil` if there is none.
    func warning(_ path: String) -> String? {
        guard let room else { return nil }
        if isLow {
            return
                "only \(room.free / 1_000_000) MB are free on the disk of \(path): make room before it is full, because then nothing more can be confirmed"
        }
        if isLogLong {
            let cause =
                room.readers.isEmpty
                ? "no other program reads it, so a long answer of the hub keeps it from being truncated; it is truncated when that has ended"
                : "a long read by \(room.readers.joined(separator: ", ")) keeps it from being truncated; end it"
            return "\(path)-wal has \(room.log / 1_000_000) MB: \(cause)"
        }
        return nil
    }
}
