import Glibc
import Platform

/// A backup chain of an earlier version: a whole copy, and increments with the pages that changed since the file before each.
///
/// `hub backup --incremental` wrote them. Version 1.3 still restores them; version 1.4 removes this file.
///
/// An increment is text up to an empty line; each changed page after its number (4 bytes, big-endian); four zero bytes; a checksum of everything.
/// The checksums are HMAC-SHA256 with the chain's key, which is in the text. A state is the digest of the digests of all pages.
struct OldChain {
    private let backup: BackupAssembly
    private var folder: String { Folder.parent(of: backup.path) }

    init(of backup: BackupAssembly) { self.backup = backup }

    private static let title = "health-hub increment 1"

    /// Whether a file with these first 16 bytes is an increment.
    static func isIncrement(_ first: [UInt8]) -> Bool { first == Array(title.utf8.prefix(16)) }

    /// The summaries in the catalogues of a folder, `hub-TIME.chain`, by the names of the files that they describe.
    static func summaries(in folder: String) -> [String: BackupSummary] {
        var found: [String: BackupSummary] = [:]
        for name in (try? Folder.names(in: folder)) ?? [] where name.hasSuffix(".chain") {
            // The text of a chain of 30 increments is shorter. The digests of pages after it are not needed.
            guard let bytes = try? PlainSource("\(folder)/\(name)").read(upTo: 64 << 10),
                let end = bytes.firstRange(of: [10, 10])?.lowerBound
            else { continue }
            for line in String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\n") {
                let words = line.split(separator: " ", maxSplits: 2)
                if words.count == 3, words[0] == "link" { found[String(words[1])] = BackupSummary(words[2]) }
            }
        }
        return found
    }

    private struct BackupIncrement {
        let path: String
        let head: [UInt8]
        let id, base: String
        let key, from, to: [UInt8]
        let position: Int
        let pages: Int64

        init?(_ path: String, head: [UInt8]) {
            let fields = Dictionary(
                String(decoding: head, as: UTF8.self).split(separator: "\n").map { line in
                    let words = line.split(separator: " ", maxSplits: 1)
                    return (words[0], words.last ?? "")
                }, uniquingKeysWith: { first, _ in first })
            let chain = fields["chain"]?.split(separator: " ") ?? []
            guard chain.count == 2, let key = Self.bytes(chain[1]), let base = fields["base"], !base.contains("/"),
                let from = fields["from"].flatMap(Self.bytes), let to = fields["to"].flatMap(Self.bytes),
                let position = fields["position"].flatMap({ Int($0) }), position > 0,
                let pages = fields["pages"]?.split(separator: " ").first.flatMap({ Int64($0) }),
                (1..<1 << 32).contains(pages)
            else { return nil }
            (self.path, self.head, id, self.base) = (path, head, String(chain[0]), String(base))
            (self.key, self.from, self.to, self.position, self.pages) = (key, from, to, position, pages)
        }

        private static func bytes(_ text: Substring) -> [UInt8]? {
            let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
            guard digits.count == 64, !digits.contains(nil) else { return nil }
            return stride(from: 0, to: 64, by: 2).map { UInt8((digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0)) }
        }

        func digest(_ bytes: [UInt8]) -> [UInt8] { Digests.authenticate(bytes, key: key) }
    }

    /// Writes the state of the newest increment into `draft`.
    ///
    /// Compares each file with its checksum, and each state with the one that the next file was made from.
    func write(into draft: DraftFile) throws(StoreError) {
        var (links, file): ([BackupIncrement], String) = ([], backup.path)
        while let link = try increment(file) {
            if let later = links.last {
                guard link.id == later.id, link.key == later.key, link.position == later.position - 1 else {
                    throw wrongBase(of: later)
                }
            }
            links.append(link)
            file = "\(folder)/\(link.base)"
            guard access(file, F_OK) == 0 else {
                throw StoreError(
                    .missing,
                    "restore \(backup.path): \(file), from which \(link.path) goes on, is missing; put it there, or restore a backup made before it"
                )
            }
        }
        guard let first = links.last else { throw damage(file) }
        guard first.position == 1 else { throw wrongBase(of: first) }
        var digests: [[UInt8]] = []
        try backup.copy(file, from: try backup.opening(file), into: draft) { digests.append(first.digest($0)) }
        for link in links.reversed() { try apply(link, to: draft, &digests) }
    }

    /// The head of an increment; nil for another file.
    private func increment(_ file: String) throws(StoreError) -> BackupIncrement? {
        let source = try backup.opening(file)
        var head = try source.read(upTo: 16)
        guard OldChain.isIncrement(head) else { return nil }
        while head.count < 4_096, !head.suffix(2).elementsEqual([10, 10]) {
            let next = try source.read(upTo: 1)
            if next.isEmpty { break }
            head += next
        }
        guard let increment = BackupIncrement(file, head: head) else { throw damage(file) }
        return increment
    }

    private func apply(_ link: BackupIncrement, to draft: DraftFile, _ digests: inout [[UInt8]]) throws(StoreError) {
        guard link.digest(Array(digests.joined())) == link.from else { throw wrongBase(of: link) }
        let source = try backup.opening(link.path)
        func read(_ count: Int) throws(StoreError) -> [UInt8] {
            let bytes = try source.read(upTo: count)
            guard bytes.count == count else { throw backup.cut(link.path) }
            return bytes
        }
        guard try read(link.head.count) == link.head else { throw damage(link.path) }
        digests.removeLast(max(0, digests.count - Int(link.pages)))
        var sealed = link.head
        while true {
            let number = try read(4)
            let page = number.reduce(0) { $0 << 8 | Int($1) }
            if page == 0 { break }
            let bytes = try read(PageSnapshot.pageSize)
            guard page <= link.pages, page <= digests.count + 1 else { throw damage(link.path) }
            let digest = link.digest(bytes)
            digests.replaceSubrange(page - 1..<min(page, digests.count), with: [digest])
            sealed += number + digest
            try draft.write(bytes, at: Int64(page - 1) * Int64(PageSnapshot.pageSize))
            try backup.step(Int64(sealed.count))
        }
        let sum = try read(32)
        let rest = try source.read(upTo: 1)
        guard sum == link.digest(sealed), link.digest(Array(digests.joined())) == link.to, rest.isEmpty else {
            throw damage(link.path)
        }
        try source.finish()
        try draft.cut(to: link.pages * Int64(PageSnapshot.pageSize))
    }

    private func wrongBase(of link: BackupIncrement) -> StoreError {
        StoreError(
            .corrupt, "restore \(backup.path): \(folder)/\(link.base) is not the backup from which \(link.path) goes on"
        )
    }

    private func damage(_ file: String) -> StoreError {
        StoreError(.corrupt, "restore \(backup.path): \(file) is damaged; restore a backup made before it")
    }
}
