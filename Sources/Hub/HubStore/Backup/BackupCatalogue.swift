import Platform

/// The description of a chain of backups, kept beside them so that the hub need not open them: `<full backup's time>.chain`.
///
/// It lists the files and the state that each contains. It also has a keyed digest of each page of the newest state, which the next increment is
/// compared with. A restore does not need it.
public struct BackupCatalogue: Sendable {
    /// The state of a store: its summary as text.
    public struct Place: Hashable, Sendable {
        public var store: StoreSummary

        var text: String {
            let newest = store.newest.map(String.init) ?? "-"
            return
                "\(store.hub) \(store.epoch) \(store.head) \(store.records) \(newest) \(store.created) \(store.schema) \(store.bytes)"
        }

        init(_ store: StoreSummary) { self.store = store }

        init?(_ text: Substring) {
            let words = text.split(separator: " ").map(String.init)
            guard words.count == 8, let head = Int64(words[2]), let records = Int64(words[3]),
                let created = Int64(words[5]),
                let bytes = Int64(words[7]), words[4] == "-" || Int64(words[4]) != nil
            else { return nil }
            store = StoreSummary(
                hub: words[0], epoch: words[1], head: head, records: records, newest: Int64(words[4]), created: created,
                schema: words[6], bytes: bytes)
        }
    }

    /// One file of the chain; the first is the full backup.
    public struct Link: Hashable, Sendable {
        public var name: String
        /// Size of the file.
        public var size: Int64
        public var place: Place
    }

    var id: String
    var seal: String
    /// Identifies the erasures that the store of the newest link has seen.
    var erasures: String
    public internal(set) var links: [Link]
    var digests: [UInt8]
    private var code: [UInt8] = []

    static let suffix = ".chain"
    private static let title = "health-hub chain 1"
    /// Enough for the digests of a store of 256 GB.
    private static let largest = 1 << 31

    init(id: String, seal: String, erasures: String, links: [Link], digests: [UInt8]) {
        (self.id, self.seal, self.erasures, self.links, self.digests) = (id, seal, erasures, links, digests)
    }

    private var body: [UInt8] {
        var text = "\(BackupCatalogue.title)\nchain \(id)\nseal \(seal)\nerased \(erasures)\n"
        for link in links { text += "link \(link.name) \(link.size) \(link.place.text)\n" }
        return Array((text + "\n").utf8) + digests
    }

    /// Nil if the bytes are not a complete catalogue.
    init?(_ bytes: [UInt8]) {
        guard bytes.count > 32, let end = bytes.firstRange(of: [10, 10])?.upperBound, (bytes.count - end) % 32 == 0
        else { return nil }
        let lines = String(decoding: bytes[..<(end - 2)], as: UTF8.self).split(separator: "\n")
        guard lines.count > 4, lines[0] == BackupCatalogue.title, lines[1].hasPrefix("chain "),
            lines[2].hasPrefix("seal "),
            lines[3].hasPrefix("erased ")
        else { return nil }
        links = []
        for line in lines.dropFirst(4) {
            let words = line.split(separator: " ", maxSplits: 3)
            guard words.count == 4, words[0] == "link", let size = Int64(words[2]), let place = Place(words[3]),
                !words[1].contains("/")
            else { return nil }
            links.append(Link(name: String(words[1]), size: size, place: place))
        }
        (id, seal, erasures) = (
            String(lines[1].dropFirst(6)), String(lines[2].dropFirst(5)), String(lines[3].dropFirst(7))
        )
        (digests, code) = (Array(bytes[end..<(bytes.count - 32)]), Array(bytes.suffix(32)))
    }

    /// Whether this hub wrote the catalogue and it is unchanged.
    func isAuthentic(_ master: BackupChain.Master) -> Bool { master.authenticate(body, id) == code }

    /// The file name, derived from that of the full backup.
    public var name: String {
        (links.first.map { String($0.name.prefix { $0 != "." }) } ?? id) + BackupCatalogue.suffix
    }

    func write(to folder: String, _ master: BackupChain.Master) throws(StoreError) {
        let body = body
        try StoreError.translated { () throws(FileError) in
            try PrivateFile.write(body + master.authenticate(body, id), to: "\(folder)/\(name)")
        }
    }

    /// All catalogues of a folder, sorted by name; unreadable ones are skipped.
    public static func all(in folder: String) -> [BackupCatalogue] {
        let names = (try? Folder.names(in: folder)) ?? []
        return names.filter { $0.hasSuffix(suffix) }.sorted().compactMap { name in
            guard let bytes = try? PrivateFile.read("\(folder)/\(name)", upTo: largest) else { return nil }
            return BackupCatalogue(bytes).flatMap { $0.name == name ? $0 : nil }
        }
    }
}
