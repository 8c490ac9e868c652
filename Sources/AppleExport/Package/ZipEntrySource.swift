import CZlib
import Files

/// What an entry of a zip unpacks to, piece by piece.
///
/// Ends with an error where the packed bytes are damaged, end too early, or unpack to more than they may: more than the directory
/// says, or than `limit`. What was read before is good. A wrong sum is told by ``hasWrongSum`` at the end, for all of it has been given by then.
public final class ZipEntrySource: ByteSource {
    private let archive: ZipArchive
    private let entry: ZipEntry
    private let limit: Int64
    private let start: Int64
    private let stream: UnsafeMutablePointer<z_stream>?
    private let input: UnsafeMutableRawBufferPointer
    private var taken: Int64 = 0
    private var unpacked: Int64 = 0
    private var sum: UInt = 0
    private var hasEnded = false
    /// The sum of the bytes is not that of the directory: something in them is not as it was.
    public private(set) var hasWrongSum = false

    public var inputPosition: Int64 { taken }
    public var inputSize: Int64 { entry.compressedSize }

    private static let inputSize = 256 << 10

    init(_ entry: ZipEntry, in archive: ZipArchive, limit: Int64) throws(ExportError) {
        (self.entry, self.archive, self.limit) = (entry, archive, limit)
        guard entry.flags & 1 == 0 else {
            throw ExportError(.damaged, "\(entry.name): it is encrypted; Apple Health encrypts nothing")
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
        guard entry.method == 8 else {
            stream = nil
            return
        }
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        inflateInit2_(stream, -15, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        self.stream = stream
    }

    deinit {
        input.deallocate()
        if let stream {
            inflateEnd(stream)
            stream.deallocate()
        }
    }

    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(ExportError) -> Int {
        guard !hasEnded, buffer.count > 0 else { return 0 }
        let count = if let stream { try inflate(stream, into: buffer) } else { try copy(into: buffer) }
        sum = crc32(sum, buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), uInt(count))
        let room = min(entry.size, limit) - unpacked
        guard count <= room else {
            guard room > 0 else {
                throw ExportError(
                    limit < entry.size ? .tooLarge : .damaged,
                    "\(entry.name): it unpacks to more than \(min(entry.size, limit)) bytes, "
                        + (limit < entry.size ? "and no export has that" : "which its zip says it has"))
            }
            // What may be there is given, and the next call tells the rest.
            unpacked += room
            hasEnded = false
            return Int(room)
        }
        unpacked += Int64(count)
        if count == 0 {
            hasEnded = true
            guard unpacked == entry.size else { throw cut }
        }
        if hasEnded { hasWrongSum = UInt32(truncatingIfNeeded: sum) != entry.checksum }
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

    private func inflate(
        _ stream: UnsafeMutablePointer<z_stream>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ExportError) -> Int {
        let room = min(buffer.count, 1 << 30)
        stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = uInt(room)
        while stream.pointee.avail_out > 0 {
            // What zlib holds back of what it has taken comes with the next bytes, or there are none.
            if stream.pointee.avail_in == 0 {
                let count = try fill()
                guard count > 0 else { return try given(room, stream) }
                stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_in = uInt(count)
            }
            switch CZlib.inflate(stream, Z_NO_FLUSH) {
            case Z_OK: continue
            case Z_STREAM_END:
                hasEnded = true
                let count = room - Int(stream.pointee.avail_out)
                guard unpacked + Int64(count) >= entry.size else {
                    unpacked += Int64(count)
                    throw cut
                }
                return count
            default: return try given(room, stream)
            }
        }
        return room
    }

    /// What was unpacked before the damage; when there is nothing more, the damage is told.
    private func given(_ room: Int, _ stream: UnsafeMutablePointer<z_stream>) throws(ExportError) -> Int {
        let count = room - Int(stream.pointee.avail_out)
        if count > 0 { return count }
        throw ExportError(
            .damaged,
            taken < entry.compressedSize
                ? "\(entry.name): its packed bytes are damaged after \(unpacked) of \(entry.size) bytes" : cut.message)
    }
}
