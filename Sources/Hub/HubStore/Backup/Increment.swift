import Platform

/// A file with the pages that changed since the previous backup.
///
/// Format: text up to an empty line; each changed page, preceded by its number (4 bytes, big-endian); four zero bytes; a checksum of everything.
/// The checksums are HMAC-SHA256 with the chain's own key, which is in the text. A program that can read the file may know the key. It is not in
/// the catalogue (`BackupCatalogue`), so the catalogue alone reveals nothing about a page.
struct Increment: Equatable {
    /// The chain that the file belongs to.
    var chain: BackupChain.Identity
    /// 1 for the first after the full backup.
    var position: Int
    /// The file names of the previous link and of the full backup, in the same folder.
    var base: String
    var full: String
    /// The states before and after: each is a digest of the digests of all pages.
    var from: [UInt8]
    var to: [UInt8]
    /// The number of pages of the new state, and the number of pages in this file.
    var pages: Int64
    var changed: Int64
    /// A summary of the new state, so that the file can be described without the others.
    var place: BackupCatalogue.Place

    static let title = "health-hub increment 1"
    /// Longer than any header.
    private static let longestHead = 4_096

    var head: [UInt8] {
        Array(
            """
            \(Increment.title)
            chain \(chain.id) \(chain.key.hexadecimal)
            position \(position)
            base \(base)
            full \(full)
            from \(from.hexadecimal)
            to \(to.hexadecimal)
            pages \(pages) \(changed)
            place \(place.text)


            """.utf8)
    }

    /// Nil if the bytes are not the header of an increment.
    init?(head: [UInt8]) {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 11, lines[0] == Increment.title else { return nil }
        func value(_ line: Int, _ name: String) -> Substring? {
            lines[line].hasPrefix(name + " ") ? lines[line].dropFirst(name.count + 1) : nil
        }
        let words = value(1, "chain")?.split(separator: " ") ?? []
        let counts = value(7, "pages")?.split(separator: " ").compactMap { Int64($0) } ?? []
        guard words.count == 2, let key = [UInt8](hexadecimal: words[1]), key.count == 32, counts.count == 2,
            counts[0] > 0,
            counts[1] >= 0,
            counts[0] < 1 << 32, counts[1] <= counts[0], let position = value(2, "position").flatMap({ Int($0) }),
            position > 0,
            let base = value(3, "base"), let full = value(4, "full"),
            let from = value(5, "from").flatMap({ [UInt8](hexadecimal: $0) }),
            let to = value(6, "to").flatMap({ [UInt8](hexadecimal: $0) }),
            let place = value(8, "place").flatMap(BackupCatalogue.Place.init),
            !base.contains("/"), !full.contains("/"), lines[9].isEmpty, lines[10].isEmpty
        else { return nil }
        (chain, self.position) = (BackupChain.Identity(id: String(words[0]), key: key), position)
        (self.base, self.full, self.from, self.to, self.place) = (String(base), String(full), from, to, place)
        (pages, changed) = (counts[0], counts[1])
    }

    init(
        chain: BackupChain.Identity, position: Int, base: String, full: String, from: [UInt8], to: [UInt8],
        pages: Int64,
        changed: Int64, place: BackupCatalogue.Place
    ) {
        (self.chain, self.position, self.base, self.full) = (chain, position, base, full)
        (self.from, self.to, self.pages, self.changed, self.place) = (from, to, pages, changed, place)
    }

    /// Reads the header from the beginning of a file, byte by byte up to the empty line.
    static func readHead(_ source: any ByteSource, after first: [UInt8], _ path: String) throws(StoreError) -> Increment
    {
        var bytes = first
        while bytes.count < longestHead, !bytes.suffix(2).elementsEqual([10, 10]) {
            let next = try source.read(upTo: 1)
            if next.isEmpty { break }
            bytes += next
        }
        guard let head = Increment(head: bytes) else {
            throw StoreError(.corrupt, "read \(path): it is damaged at its beginning; restore a backup before it")
        }
        return head
    }

    /// The checksum of a file: of its header and of the number and digest of each page.
    static func sum(_ head: [UInt8], _ entries: [UInt8], _ key: [UInt8]) -> [UInt8] {
        Digests.authenticate(head + entries, key: key)
    }

    static func number(_ page: Int64) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: page >> (24 - 8 * $0)) } }
}
