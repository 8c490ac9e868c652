import Glibc
import Platform

/// A file in a zip.
public struct ZipEntry: Hashable, Sendable {
    /// The name in the zip, with `/` between folders; must not be used as a path on this machine.
    public let name: String
    public let compressedSize: Int64
    public let size: Int64
    public let checksum: UInt32
    let method: UInt16
    let flags: UInt16
    let headerOffset: Int64

    public var isFolder: Bool { name.hasSuffix("/") }
    /// Whether decrypting it requires a password.
    public var isEncrypted: Bool { flags & 1 == 1 }
    /// The part of the name after the last `/`.
    public var lastName: String {
        String(name[(name.lastIndex(of: "/").map(name.index(after:)) ?? name.startIndex)...])
    }
}

/// A zip archive that is read in place, using the directory at its end (PKWARE's APPNOTE 6.3, with zip64).
///
/// It never extracts files to disk, so a name in it never becomes a path. Limits: 200,000 entries, names of 4,096 bytes,
/// and a directory of 64 MiB.
public final class ZipArchive: Sendable {
    public let path: String
    public let entries: [ZipEntry]
    /// Directory entries that cannot be read, with the reasons.
    public let unreadable: [String]
    let file: Descriptor
    let size: Int64

    static let maximumEntries = 200_000
    static let maximumDirectory: Int64 = 64 << 20

    public init(_ path: String) throws(ExportError) {
        self.path = path
        (file, size) = try FileSource.open(path)
        let directory = try ZipDirectory.find(in: file, size: size, path: path)
        let bytes = try ZipArchive.bytes(of: file, at: directory.offset, count: Int(directory.size), path)
        (entries, unreadable) = ZipDirectory.entries(in: bytes, count: directory.count, archiveSize: size)
        guard !entries.isEmpty else {
            throw ExportError(
                .damaged,
                "\(path): the zip is empty; a phone writes such a file when it locks itself meanwhile: export again and keep it unlocked"
            )
        }
    }

    static func bytes(
        of file: Descriptor, at offset: Int64, count: Int, _ path: String
    ) throws(ExportError) -> [UInt8] {
        var failure: ExportError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(ExportError) {
                filled = try FileSource.read(file, at: offset, into: UnsafeMutableRawBufferPointer(buffer), path)
            } catch { failure = error }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Opens an entry for reading from its start.
    ///
    /// - Parameter limit: the maximum unpacked size in bytes; reading more fails with an error.
    public func open(_ entry: ZipEntry, limit: Int64 = .max) throws(ExportError) -> ZipEntrySource {
        try ZipEntrySource(entry, in: self, limit: limit)
    }

    /// Whether a file starts with the signature of a zip.
    public static func isZip(_ path: String) -> Bool {
        guard let (file, size) = try? FileSource.open(path), size >= 4,
            let bytes = try? bytes(of: file, at: 0, count: 4, path)
        else { return false }
        return bytes.starts(with: [0x50, 0x4B]) && [[3, 4], [5, 6], [6, 6]].contains(Array(bytes[2..<4]))
    }
}

/// The directory of a zip.
enum ZipDirectory {
    struct Place {
        var offset: Int64
        var size: Int64
        var count: Int64
    }

    /// The end record lies within this many bytes of the end of the file, because a comment has at most 65,535 bytes.
    private static let tail = 65_535 + 22 + 20

    static func find(in file: Descriptor, size: Int64, path: String) throws(ExportError) -> Place {
        let count = Int(min(size, Int64(tail)))
        let bytes = try ZipArchive.bytes(of: file, at: size - Int64(count), count: count, path)
        var place = bytes.count - 22
        while place >= 0 {
            // The comment must end at the end of the file; otherwise the four bytes match by chance.
            if bytes.isSignature(0x0605_4B50, at: place), place + 22 + Int(bytes.word(place + 20)) <= bytes.count {
                break
            }
            place -= 1
        }
        guard place >= 0 else {
            throw ExportError(
                .damaged,
                "\(path): the zip has no directory at its end: the copy or download is incomplete; copy it again, or recover export.xml from it with another program and give that"
            )
        }
        var found = Place(
            offset: Int64(bytes.double(place + 16)), size: Int64(bytes.double(place + 12)),
            count: Int64(bytes.word(place + 10)))
        if place >= 20, bytes.isSignature(0x0706_4B50, at: place - 20) {
            let offset = bytes.quad(place - 20 + 8)
            let record = try wide(at: offset, in: file, size: size, path: path)
            found = record ?? found
        }
        // Data before the zip, such as from joining two files, shifts all offsets.
        guard found.offset >= 0, found.size >= 0, found.size <= ZipArchive.maximumDirectory,
            found.offset <= size - found.size, found.count <= ZipArchive.maximumEntries
        else {
            throw ExportError(
                .damaged, "\(path): the directory of the zip contradicts itself; the file is damaged: copy it again")
        }
        return found
    }

    /// Reads the zip64 record.
    private static func wide(
        at offset: UInt64, in file: Descriptor, size: Int64, path: String
    ) throws(ExportError) -> Place? {
        guard offset <= UInt64(max(0, size - 56)) else { return nil }
        let bytes = try ZipArchive.bytes(of: file, at: Int64(offset), count: 56, path)
        guard bytes.count == 56, bytes.isSignature(0x0606_4B50, at: 0) else { return nil }
        return Place(
            offset: Int64(clamping: bytes.quad(48)), size: Int64(clamping: bytes.quad(40)),
            count: Int64(clamping: bytes.quad(32)))
    }

    static func entries(in bytes: [UInt8], count: Int64, archiveSize: Int64) -> ([ZipEntry], [String]) {
        var (entries, faults): ([ZipEntry], [String]) = ([], [])
        var place = 0
        while place + 46 <= bytes.count, bytes.isSignature(0x0201_4B50, at: place), entries.count < count {
            let (name, extra) = (Int(bytes.word(place + 28)), Int(bytes.word(place + 30)))
            let end = place + 46 + name + extra + Int(bytes.word(place + 32))
            guard end <= bytes.count else { break }
            let text = String(decoding: bytes[(place + 46)..<(place + 46 + name)], as: UTF8.self)
            var sizes = (
                size: UInt64(bytes.double(place + 24)), packed: UInt64(bytes.double(place + 20)),
                offset: UInt64(bytes.double(place + 42))
            )
            widen(&sizes, Array(bytes[(place + 46 + name)..<(place + 46 + name + extra)]))
            if name <= 4_096, sizes.size <= Int64.max, sizes.offset < UInt64(archiveSize),
                sizes.packed <= UInt64(archiveSize) - sizes.offset
            {
                entries.append(
                    ZipEntry(
                        name: text, compressedSize: Int64(sizes.packed), size: Int64(sizes.size),
                        checksum: bytes.double(place + 16), method: bytes.word(place + 10),
                        flags: bytes.word(place + 8), headerOffset: Int64(sizes.offset)))
            } else {
                faults.append("an entry that would lie beyond the end of the zip")
            }
            place = end
        }
        if entries.count + faults.count < count {
            faults.append("the directory ends after \(entries.count) of \(count) entries")
        }
        return (entries, faults)
    }

    /// Replaces sizes whose bits are all set with the zip64 sizes from the extra field.
    private static func widen(_ sizes: inout (size: UInt64, packed: UInt64, offset: UInt64), _ extra: [UInt8]) {
        var place = 0
        while place + 4 <= extra.count {
            let (id, count) = (extra.word(place), Int(extra.word(place + 2)))
            var field = place + 4
            let end = min(field + count, extra.count)
            if id == 1 {
                func next() -> UInt64? {
                    guard field + 8 <= end else { return nil }
                    defer { field += 8 }
                    return extra.quad(field)
                }
                if sizes.size == 0xFFFF_FFFF { sizes.size = next() ?? sizes.size }
                if sizes.packed == 0xFFFF_FFFF { sizes.packed = next() ?? sizes.packed }
                if sizes.offset == 0xFFFF_FFFF { sizes.offset = next() ?? sizes.offset }
            }
            place += 4 + count
        }
    }
}

/// Reads little-endian numbers at a position that the caller has checked.
extension [UInt8] {
    func word(_ place: Int) -> UInt16 { UInt16(self[place]) | UInt16(self[place + 1]) << 8 }
    func double(_ place: Int) -> UInt32 { UInt32(word(place)) | UInt32(word(place + 2)) << 16 }
    func quad(_ place: Int) -> UInt64 { UInt64(double(place)) | UInt64(double(place + 4)) << 32 }
    func isSignature(_ number: UInt32, at place: Int) -> Bool { place + 4 <= count && double(place) == number }
}
