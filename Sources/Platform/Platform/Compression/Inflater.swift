import CZlib

/// Decompresses deflate (RFC 1951), raw or as one gzip member (RFC 1952), in pieces of a size that the caller chooses.
public final class Inflater {
    /// The format around the compressed bytes.
    public enum Form: Sendable {
        /// Raw deflate, as in a zip.
        case bare
        /// The gzip header and its checksum, which is verified at the end.
        case gzip
    }

    /// The state of decompression.
    public enum Progress: Sendable, Hashable {
        /// More input is needed, or decompressed data waits for space.
        case goesOn
        /// The data is complete.
        case ended
        /// The data has another form or is corrupt. Data returned earlier was decompressed correctly, but its checksum was not verified.
        case damaged
    }

    public private(set) var progress = Progress.goesOn
    private let stream: UnsafeMutablePointer<z_stream>

    public init(_ form: Form) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // A negative value means without a header; adding 16 to the window means with the gzip header only.
        inflateInit2_(stream, form == .bare ? -15 : 15 + 16, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses as much as there is room for.
    ///
    /// - Returns: the numbers of bytes taken from `input` and written to `output`. If `output` is full, more may be available from the
    ///   next call, whose input may be empty.
    public func inflate(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> (taken: Int, given: Int) {
        guard progress == .goesOn else { return (0, 0) }
        // zlib counts in 32 bits.
        let (available, room) = (min(input.count, 1 << 30), min(output.count, 1 << 30))
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = uInt(available)
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = uInt(room)
        switch CZlib.inflate(stream, Z_NO_FLUSH) {
        // `Z_BUF_ERROR` means that there was no input or no room.
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: progress = .ended
        default: progress = .damaged
        }
        return (available - Int(stream.pointee.avail_in), room - Int(stream.pointee.avail_out))
    }
}
