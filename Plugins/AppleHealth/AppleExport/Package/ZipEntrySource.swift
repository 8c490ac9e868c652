import Platform

/// Unpacks an entry of a zip piece by piece.
///
/// Reading fails with an error if the compressed data is damaged, ends too early, or unpacks to more bytes than the directory
/// gives or `limit` allows. Data read before the error is valid. A wrong checksum is reported by ``hasWrongSum`` at the end, after all data
/// has been returned.
public final class ZipEntrySource: ExportByteSource {
    private let archive: ZipArchive
    private let entry: ZipEntry
    private let limit: Int64
    private let start: Int64
    private let inflater: Inflater?
    private let input: UnsafeMutableRawBufferPointer
    /// Bytes that were read from the file but not unpacked yet.
    private var rest: UnsafeRawBufferPointer
    private var taken: Int64 = 0
    private var unpacked: Int64 = 0
    private var sum = CRC32()
    private var hasEnded = false
    /// Whether the checksum differs from the one in the directory, so that some bytes are wrong.
    public private(set) var hasWrongSum = false

    public var inputPosition: Int64 { taken }
    public var inputSize: Int64 { entry.compressedSize }

    private static let inputSize = 256 << 10

    init(_ entry: ZipEntry, in archive: ZipArchive, limit: Int64) throws(ExportError) {
        (self.entry, self.archive, self.limit) = (entry, archive, limit)
        guard !entry.isEncrypted else {
            throw ExportError(
                .damaged, "\(entry.name): it is encrypted (password): unpack the zip with it, and give the folder")
        }
        guard entry.method == 0 || entry.method == 8 else {
            throw ExportError(
                .damaged, "\(entry.name): it is packed by method \(entry.method); only 0 and 8 are read here")
        }
        let header = try ZipArchive.bytes(of: archive.file, at: entry.headerOffset, count: 30, archive.path)
        guard header.count == 30, header.isSignature(0x0403_4B50, at: 0) else {
            throw ExportError(.damaged, "\(entry.name): it is not where the directory of the zip says it is")
        }
        start = entry.headerOffset + 30 + Int64(header.word(26)) + Int64(header.word(28))
        input = .allocate(byteCount: ZipEntrySource.inputSize, alignment: 64)
        rest = UnsafeRawBufferPointer(rebasing: input[..<0])
        inflater = entry.method == 8 ? Inflater(.bare) : nil
    }

    deinit { input.deallocate() }

    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(ExportError) -> Int {
        guard !hasEnded, buffer.count > 0 else { return 0 }
        let count = if let inflater { try inflate(inflater, into: buffer) } else { try copy(into: buffer) }
        sum.add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        let room = min(entry.size, limit) - unpacked
        guard count <= room else {
            guard room > 0 else {
                throw ExportError(
                    limit < entry.size ? .tooLarge : .damaged,
                    "\(entry.name): it unpacks to more than \(min(entry.size, limit)) bytes, "
                        + (limit < entry.size ? "and no export has that" : "which its zip says it has"))
            }
            // Return the bytes within the limit; the next call reports the excess.
            unpacked += room
            hasEnded = false
            return Int(room)
        }
        unpacked += Int64(count)
        if count == 0 {
            hasEnded = true
            guard unpacked == entry.size else { throw cut }
        }
        if hasEnded { hasWrongSum = sum.value != entry.checksum }
        return count
    }

    private var cut: ExportError {
        ExportError(.damaged, "\(entry.name): it ends after \(unpacked) of \(entry.size) bytes")
    }

    private func fill() throws(ExportError) -> Int {
        let room = Int(min(Int64(input.count), entry.compressedSize - taken))
        let count = try FileSource.read(
            archive.file, at: start + taken, into: UnsafeMutableRawBufferPointer(rebasing: input[..<room]), archive.path
        )
        taken += Int64(count)
        return count
    }

    private func copy(into buffer: UnsafeMutableRawBufferPointer) throws(ExportError) -> Int {
        let room = Int(min(Int64(buffer.count), entry.compressedSize - taken))
        let count = try FileSource.read(
            archive.file, at: start + taken, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]),
            archive.path)
        taken += Int64(count)
        return count
    }

    private func inflate(_ inflater: Inflater, into buffer: UnsafeMutableRawBufferPointer) throws(ExportError) -> Int {
        var count = 0
        while count < buffer.count {
            if rest.isEmpty { rest = UnsafeRawBufferPointer(rebasing: input[..<(try fill())]) }
            let (taken, given) = inflater.inflate(
                rest, into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
            rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
            count += given
            switch inflater.progress {
            case .goesOn:
                // zlib can return buffered data without new input, but here it neither took nor gave bytes.
                guard taken > 0 || given > 0 else { return try self.given(count) }
            case .ended:
                hasEnded = true
                guard unpacked + Int64(count) >= entry.size else {
                    unpacked += Int64(count)
                    throw cut
                }
                return count
            case .damaged: return try self.given(count)
            }
        }
        return count
    }

    /// Returns the bytes unpacked before the damage; throws if there are none.
    private func given(_ count: Int) throws(ExportError) -> Int {
        if count > 0 { return count }
        throw ExportError(
            .damaged,
            taken < entry.compressedSize
                ? "\(entry.name): its packed bytes are damaged after \(unpacked) of \(entry.size) bytes" : cut.message)
    }
}
