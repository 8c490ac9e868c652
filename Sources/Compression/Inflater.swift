import CZlib

/// Unpacks deflate (RFC 1951), bare or as one gzip member (RFC 1952), piece by piece: nothing grows larger than who reads wants it.
public final class Inflater {
    /// What is around the packed bytes.
    public enum Form: Sendable {
        /// Nothing, as in a zip.
        case bare
        /// The header of gzip, and at the end its sum, which is compared.
        case gzip
    }

    /// How far it has come.
    public enum Progress: Sendable, Hashable {
        /// More is needed, or what is unpacked waits for room.
        case goesOn
        /// This was all, and it is whole.
        case ended
        /// It is of another form, or was changed; what was given before was good, where it was compared with nothing yet.
        case damaged
    }

    public private(set) var progress = Progress.goesOn
    private let stream: UnsafeMutablePointer<z_stream>

    public init(_ form: Form) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Below zero: without a header; 16 beside the window: with that of gzip, and no other.
        inflateInit2_(stream, form == .bare ? -15 : 15 + 16, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Unpacks what there is room for.
    ///
    /// - Returns: how many bytes of `input` were taken, and how many of `output` were filled. An output that is full may not be all: the
    ///   rest comes with the next call, whose input may be empty.
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
        // The second: nothing to take, or no room.
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: progress = .ended
        default: progress = .damaged
        }
        return (available - Int(stream.pointee.avail_in), room - Int(stream.pointee.avail_out))
    }
}
