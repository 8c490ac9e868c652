import Files
import Glibc

/// A backup that `hub backup` has made, or has begun to make: a line of the list beside the store, `<store>.backups`.
public struct KnownBackup: Hashable, Sendable {
    /// Absolute.
    public var path: String
    /// Up to where it has the records of which epoch; `nil` while it is not finished, the epoch also where an earlier hub has noted it.
    public var head: Int64?
    public var epoch: String?
    /// The device that its folder was on.
    private var device: UInt64?

    /// All that the hub knows of, in the order in which they were made.
    public static func all(of store: String) throws(StoreError) -> [KnownBackup] {
        let list = list(store)
        do throws(FileError) {
            let bytes = try PrivateFile.read(list, upTo: 64 << 20)
            return String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n").compactMap { KnownBackup($0) }
        } catch {
            var fault = StoreError(error)
            if error.code == EACCES || error.code == EPERM {
                fault.message +=
                    ": another user has written the list of backups; say sudo chown --reference=\(store) \(list)"
            }
            throw fault
        }
    }

    /// What is looked for in backups: records of a hub that were first stored under this sequence or a later one.
    ///
    /// A backup of another epoch may have them under any number: after a restore sources send again what the backup did not have.
    public struct Search: Sendable {
        private let first: Int64
        private let epoch, hub: String

        public init(recordsFrom first: Int64, epoch: String, hub: String) {
            (self.first, self.epoch, self.hub) = (first, epoch, hub)
        }

        /// The paths of those that may have the records, by folder, by what is known without looking at them.
        public func suspects(among known: [KnownBackup]) -> [String: [String]] {
            Dictionary(grouping: known.filter(mayHave).map(\.path)) { Folder.parent(of: $0) }
        }

        /// Where those are now that may have the records, and others in their folders.
        ///
        /// Takes as long as the disks of these folders do, which may be for ever.
        public func found(among known: [KnownBackup]) -> [String] {
            (known + KnownBackup.others(beside: known, of: hub)).filter(mayHave).compactMap(\.place)
        }

        private func mayHave(_ backup: KnownBackup) -> Bool {
            backup.head == nil || backup.epoch != epoch || backup.head ?? .max >= first
        }
    }

    /// Backups in the folders of those that are known: put there by a person, or by a hub that has kept a shorter list.
    fileprivate static func others(beside known: [KnownBackup], of hub: String) -> [KnownBackup] {
        let listed = Set(known.map(\.path))
        return Set(known.map { Folder.parent(of: $0.path) }).sorted().flatMap { folder -> [KnownBackup] in
            let names = ((try? Folder.names(in: folder)) ?? []).filter {
                isName($0) && !listed.contains("\(folder)/\($0)")
            }
            guard !names.isEmpty else { return [] }
            let links = BackupCatalogue.all(in: folder).flatMap(\.links)
            return names.sorted().compactMap { name in
                let path = "\(folder)/\(name)"
                let summary =
                    links.first { $0.name == name }?.place.store
                    ?? (BackupAssembly.isPlain(path) ? try? StoreFile(path).summary() : nil)
                // What cannot be read may be this hub's.
                return summary.map { $0.hub == hub } ?? true ? KnownBackup(path, summary) : nil
            }
        }
    }

    /// Whether `hub backup` calls a backup so: full or not, encrypted or not.
    public static func isName(_ name: String) -> Bool {
        name.wholeMatch(of: /hub-[0-9]{8}T[0-9]{6}Z\.(sqlite|increment)(\.age)?/) != nil
    }

    /// When it was begun, in microseconds since 1970, by its name; `nil` where it has another.
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

    /// The last that was made, of those that can be looked at now.
    public static func newest(of store: String) throws(StoreError) -> String? {
        try all(of: store).last { $0.head != nil && access($0.path, F_OK) == 0 }?.path
    }

    /// Notes that a backup is begun, or with what is in it that it is made.
    ///
    /// Noted before it has a record, it is also known when it is finished after an erasure that began later. Where the disk of the store takes
    /// nothing more, there is a backup all the same.
    /// - Parameter tries: how often it is asked for the turn to write the list, in steps of 10 ms.
    /// - Throws: `busy` where another program holds the list, and what keeps the list from being read.
    static func note(
        _ path: String, _ summary: StoreSummary? = nil, of store: String, tries: Int = 1_000
    ) throws(StoreError) {
        guard let backup = KnownBackup(path, summary), !backup.path.contains("\n") else { return }
        try change(store, tries) { known in
            // One that is not there now may be on a medium that is elsewhere: only what was never finished is dropped for that.
            var rest = known.filter { $0.path != backup.path && ($0.head != nil || $0.place != nil) }
            if rest.count >= most, let oldest = rest.firstIndex(where: { $0.place == nil }) { rest.remove(at: oldest) }
            return rest.suffix(most - 1) + [backup]
        }
    }

    /// Takes backups from the list that were removed.
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

    /// Where it is to be found, or would be with its medium; `nil` where it was removed.
    fileprivate var place: String? {
        for path in [path, path + ".part"] where access(path, F_OK) == 0 || errno != ENOENT { return path }
        var folder = stat()
        guard stat(Folder.parent(of: path), &folder) == 0 else { return path }
        return device == nil || device == UInt64(folder.st_dev) ? nil : path
    }

    // MARK: - The list

    private static let most = 10_000

    /// The list beside a store.
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

    /// `HEAD EPOCH DEVICE PATH`, of an earlier hub `HEAD PATH`; `-` for what is not known.
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

    /// Keeps other programs from writing the list meanwhile.
    private static func turn(beside store: String, _ tries: Int) throws(StoreError) -> Descriptor {
        // A lock of the folder: the list itself is another file after each line.
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
