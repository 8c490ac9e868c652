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
        let bytes = try StoreError.translated { () throws(FileError) in
            try PrivateFile.read(list(store), upTo: 64 << 20)
        }
        return String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n").compactMap { KnownBackup($0) }
    }

    /// Where those are now that may have records of a hub which were first stored under this sequence or a later one.
    ///
    /// One of another epoch may have them under any number: after a restore sources send again what the backup did not have. It looks into the
    /// folders in which backups are known, which takes as long as their disks do.
    public static func holding(
        recordsFrom first: Int64, epoch: String, hub: String, of store: String
    ) throws(StoreError) -> [String] {
        let known = try all(of: store)
        return (known + others(beside: known, of: hub)).filter { backup in
            backup.head == nil || backup.epoch != epoch || backup.head ?? .max >= first
        }.compactMap(\.place)
    }

    /// Backups in the folders of those that are known: put there by a person, or by a hub that has kept a shorter list.
    private static func others(beside known: [KnownBackup], of hub: String) -> [KnownBackup] {
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

    /// The last that was made, of those that can be looked at now.
    public static func newest(of store: String) throws(StoreError) -> String? {
        try all(of: store).last { $0.head != nil && access($0.path, F_OK) == 0 }?.path
    }

    /// Notes that a backup is begun, or with what is in it that it is made; what cannot be noted is a backup all the same.
    ///
    /// Noted before it has a record, it is also known when it is finished after an erasure that began later.
    static func note(_ path: String, _ summary: StoreSummary? = nil, of store: String) {
        guard let backup = KnownBackup(path, summary), !backup.path.contains("\n") else { return }
        let turn = turn(beside: store)
        defer { withExtendedLifetime(turn) {} }
        guard let known = try? all(of: store) else { return }
        // One that is not there now may be on a medium that is elsewhere: only what was never finished is dropped for that.
        var rest = known.filter { $0.path != backup.path && ($0.head != nil || $0.place != nil) }
        if rest.count >= most, let oldest = rest.firstIndex(where: { $0.place == nil }) { rest.remove(at: oldest) }
        let lines = (rest.suffix(most - 1) + [backup]).map { $0.line + "\n" }
        _ = try? PrivateFile.write(Array(lines.joined().utf8), to: list(store))
    }

    /// Where it is to be found, or would be with its medium; `nil` where it was removed.
    private var place: String? {
        for path in [path, path + ".part"] where access(path, F_OK) == 0 || errno != ENOENT { return path }
        var folder = stat()
        guard stat(Folder.parent(of: path), &folder) == 0 else { return path }
        return device == nil || device == UInt64(folder.st_dev) ? nil : path
    }

    // MARK: - The list

    private static let most = 10_000

    private static func list(_ store: String) -> String { store + ".backups" }

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

    /// Keeps other programs from writing the list meanwhile; `nil` where that cannot be had within some seconds.
    private static func turn(beside store: String) -> Descriptor? {
        // A lock of the folder: the list itself is another file after each line.
        guard let folder = try? Descriptor(Folder.parent(of: store), O_RDONLY | O_DIRECTORY) else { return nil }
        for _ in 0..<1_000 {
            if (try? folder.lock()) == true { return folder }
            usleep(10_000)
        }
        return nil
    }
}
