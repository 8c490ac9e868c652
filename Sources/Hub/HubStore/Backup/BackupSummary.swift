import Platform

/// The facts of an encrypted backup that need no key to read: a line of text in `<backup>.summary`.
///
/// Rotation, `hub backup --list` and `hub erase` need it. A restore does not.
public struct BackupSummary: Hashable, Sendable {
    /// Size of the backup's file.
    public var size: Int64
    public var store: StoreSummary

    public static let suffix = ".summary"

    init(size: Int64, store: StoreSummary) { (self.size, self.store) = (size, store) }

    /// `SIZE HUB EPOCH HEAD RECORDS NEWEST CREATED SCHEMA BYTES`; NEWEST is `-` in an empty store.
    init?(_ line: Substring) {
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 9, let size = Int64(words[0]), let head = Int64(words[3]), let records = Int64(words[4]),
            words[5] == "-" || Int64(words[5]) != nil, let created = Int64(words[6]), let bytes = Int64(words[8])
        else { return nil }
        self.size = size
        store = StoreSummary(
            hub: words[1], epoch: words[2], head: head, records: records, newest: Int64(words[5]), created: created,
            schema: words[7], bytes: bytes)
    }

    private var line: String {
        let newest = store.newest.map(String.init) ?? "-"
        return
            "\(size) \(store.hub) \(store.epoch) \(store.head) \(store.records) \(newest) \(store.created) \(store.schema) \(store.bytes)\n"
    }

    func write(beside backup: String) throws(StoreError) {
        try StoreError.translated { () throws(FileError) in
            try PrivateFile.write(Array(line.utf8), to: backup + BackupSummary.suffix)
        }
    }

    /// The summaries in a folder by the names of their backups; unreadable ones are skipped.
    public static func all(in folder: String) -> [String: BackupSummary] {
        var found = OldChain.summaries(in: folder)
        for name in (try? Folder.names(in: folder)) ?? [] where name.hasSuffix(suffix) {
            guard let bytes = try? PrivateFile.read("\(folder)/\(name)", upTo: 4_096),
                let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first
            else { continue }
            found[String(name.dropLast(suffix.count))] = BackupSummary(line)
        }
        return found
    }
}
