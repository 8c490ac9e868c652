import Glibc
import Platform

/// A backup that `hub backup` has made or begun: a line of the list beside the store, `<store>.backups`.
public struct KnownBackup: Hashable, Sendable {
    /// The absolute path.
    public var path: String
    /// The epoch and the last sequence number in the backup.
    ///
    /// Both are `nil` while the backup is unfinished. `epoch` is also `nil` if an earlier version of the hub wrote the line.
    public var head: Int64?
    public var epoch: String?
    /// The device of its folder.
    private var device: UInt64?

    /// All known backups of a store, in the order in which they were made.
    public static func all(of store: String) throws(StoreError) -> [KnownBackup] {
        let list = list(store)
        do throws(FileError) {
            let bytes = try PrivateFile.read(list, upTo: 64 << 20)
            return String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n").compactMap { KnownBackup($0) }
        } catch {
            var fault = StoreError(error)
            if error.code == EACCES || error.code == EPERM {
                fault.message +=
                    ": another user has written the list of backups; run sudo chown --reference=\(store) \(list)"
            }
            throw fault
        }
    }

    /// Searches backups for records that a hub first stored under a given sequence number or a later one.
    ///
    /// A backup of another epoch may contain them under any number: after a restore, sources resend records that the backup lacked.
    public struct Search: Sendable {
        private let first: Int64
        private let epoch, hub: String

        public init(recordsFrom first: Int64, epoch: String, hub: String) {
            (self.first, self.epoch, self.hub) = (first, epoch, hub)
        }

        /// The paths of backups that may contain the records, by folder, judged from the list alone without accessing them.
        public func suspects(among known: [KnownBackup]) -> [String: [String]] {
            Dictionary(grouping: known.filter(mayHave).map(\.path)) { Folder.parent(of: $0) }
        }

        /// The current paths of backups that may contain the records, including unlisted backups in the same folders.
        ///
        /// This accesses the disks of these folders and may block forever.
        public func found(among known: [KnownBackup]) -> [String] {
            (known + KnownBackup.others(beside: known, of: hub)).filter(mayHave).compactMap(\.place)
        }

        private func mayHave(_ backup: KnownBackup) -> Bool {
            backup.head == nil || backup.epoch != epoch || backup.head ?? .max >= first
        }
    }

    /// Unlisted backups in the folders of known ones: a person put them there, or a hub with a shorter list made them.
    fileprivate static func others(beside known: [KnownBackup], of hub: String) -> [KnownBackup] {
        let listed = Set(known.map(\.path))
        return Set(known.map { Folder.parent(of: $0.path) }).sorted().flatMap { folder -> [KnownBackup] in
            let names = ((try? Folder.names(in: folder)) ?? []).filter {
                isName($0) && !listed.contains("\(folder)/\($0)")
            }
            guard !names.isEmpty else { return [] }
            let summaries = BackupSummary.all(in: folder)
            return names.sorted().compactMap { name in
                let path = "\(folder)/\(name)"
                let summary =
                    summaries[name]?.store
                    ?? (BackupAssembly.isPlain(path) ? try? StoreFile(path).summary() : nil)
                // An unreadable backup may belong to this hub.
                return summary.map { $0.hub == hub } ?? true ? KnownBackup(path, summary) : nil
            }
        }
    }

    /// Whether a name has the form of the names that `hub backup` gives, encrypted or not, or of an increment of an earlier version.
    public static func isName(_ name: String) -> Bool {
        name.wholeMatch(of: /hub-[0-9]{8}T[0-9]{6}Z\.(sqlite|increment)(\.age)?/) != nil
    }

    /// The start time of the backup, in microseconds since 1970, from its name; `nil` if it has another name.
    public var time: Int64? {
        guard let name = path.split(separator: "/").last, KnownBackup.isName(String(name)) else { return nil }
        let digits = Array(name.utf8.dropFirst(4))
        func number(_ place: Range<Int>) -> CInt {
            digits[place].reduce(0) { $0 * 10 + CInt($1 - UInt8(ascii: "0")) }
        }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (number(0..<4) - 1_900, number(4..<6) - 1, number(6..<8))
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (number(9..<11), number(11..<13), number(13..<15))
        return Int64(timegm(&parts)) * 1_000_000
    }

    /// Adds a backup to the list: without a summary when it is begun, with one when it is finished.
    ///
    /// A backup is listed before it has its first record. It is therefore also known if it is finished after an erasure that began later. If the
    /// store's disk is full, the backup is made without a line in the list.
    /// - Parameter tries: how often to try to lock the list, in steps of 10 ms.
    /// - Throws: `busy` if another program holds the list, or the error that prevents reading the list.
    static func note(
        _ path: String, _ summary: StoreSummary? = nil, of store: String, tries: Int = 1_000
    ) throws(StoreError) {
        guard let backup = KnownBackup(path, summary), !backup.path.contains("\n") else { return }
        try change(store, tries) { known in
            // A missing backup may be on a medium that is elsewhere, so only missing backups that were never finished are dropped.
            var rest = known.filter { $0.path != backup.path && ($0.head != nil || $0.place != nil) }
            if rest.count >= most, let oldest = rest.firstIndex(where: { $0.place == nil }) { rest.remove(at: oldest) }
            return rest.suffix(most - 1) + [backup]
        }
    }

    /// Removes deleted backups from the list.
    public static func forget(_ paths: [String], of store: String) throws(StoreError) {
        let removed = Set(paths.compactMap { KnownBackup($0, nil)?.path })
        try change(store, 1_000) { known in known.filter { !removed.contains($0.path) } }
    }

    private static func change(
        _ store: String, _ tries: Int, _ body: ([KnownBackup]) -> [KnownBackup]
    ) throws(StoreError) {
        let turn = try turn(beside: store, tries)
        defer { withExtendedLifetime(turn) {} }
        let known = try all(of: store)
        let changed = body(known)
        guard changed != known else { return }
        let text = changed.map { $0.line + "\n" }.joined()
        _ = try? PrivateFile.write(Array(text.utf8), to: list(store), forOwnerOf: store)
    }

    /// The current path, or the path on its absent medium; `nil` if the backup was removed.
    fileprivate var place: String? {
        for path in [path, path + ".part"] where access(path, F_OK) == 0 || errno != ENOENT { return path }
        var folder = stat()
        guard stat(Folder.parent(of: path), &folder) == 0 else { return path }
        return device == nil || device == UInt64(folder.st_dev) ? nil : path
    }

    // MARK: - The list

    private static let most = 10_000

    /// The path of the list beside a store.
    public static func list(_ store: String) -> String { store + ".backups" }

    private init?(_ path: String, _ summary: StoreSummary?) {
        var status = stat()
        guard let folder = realpath(Folder.parent(of: path), nil) else { return nil }
        defer { free(folder) }
        guard stat(folder, &status) == 0, let name = path.split(separator: "/").last else { return nil }
        let parent = String(cString: folder)
        (self.path, device) = (parent == "/" ? "/\(name)" : "\(parent)/\(name)", UInt64(status.st_dev))
        (head, epoch) = (summary?.head, summary?.epoch)
    }

    /// `HEAD EPOCH DEVICE PATH`, or `HEAD PATH` from an earlier version; `-` for unknown values.
    private init?(_ line: Substring) {
        let isOld = line.split(separator: " ", maxSplits: 1).last?.hasPrefix("/") ?? false
        let parts = line.split(separator: " ", maxSplits: isOld ? 1 : 3)
        guard parts.count == (isOld ? 2 : 4), let path = parts.last else { return nil }
        (self.path, head) = (String(path), Int64(parts[0]))
        guard !isOld else { return }
        (epoch, device) = (parts[1] == "-" ? nil : String(parts[1]), UInt64(parts[2]))
    }

    private var line: String {
        "\(head.map(String.init) ?? "-") \(epoch ?? "-") \(device.map(String.init) ?? "-") \(path)"
    }

    /// Locks the list against changes by other programs.
    private static func turn(beside store: String, _ tries: Int) throws(StoreError) -> Descriptor {
        // Locks the folder, because each change replaces the list with another file.
        let folder = try StoreError.translated { () throws(FileError) in
            try Descriptor(Folder.parent(of: store), O_RDONLY | O_DIRECTORY)
        }
        for _ in 0..<tries {
            if try StoreError.translated({ () throws(FileError) in try folder.lock() }) { return folder }
            usleep(10_000)
        }
        throw StoreError(
            .busy,
            "note a backup in \(list(store)): another program holds its folder; lsof \(Folder.parent(of: store)) names it"
        )
    }
}
