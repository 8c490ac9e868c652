import CZlib

/// Compresses bytes as one gzip member without a name and a time, so that the same bytes give the same member.
public struct GzipWriter: ~Copyable {
    /// The compressed data so far.
    public private(set) var packed: [UInt8] = []
    private let stream: UnsafeMutablePointer<z_stream>

    public init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        deflateInit2_(
            stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            CInt(MemoryLayout<z_stream>.size))
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    public mutating func write(_ bytes: [UInt8]) { deflate(bytes, Z_NO_FLUSH) }

    /// The complete member; nothing may be written after it.
    public mutating func end() -> [UInt8] {
        deflate([], Z_FINISH)
        return packed
    }

    private mutating func deflate(_ bytes: [UInt8], _ flush: CInt) {
        let room = 65_536
        var piece = [UInt8](repeating: 0, count: room)
        bytes.withUnsafeBufferPointer { source in
            stream.pointee.next_in = source.baseAddress.map { UnsafeMutablePointer(mutating: $0) }
            stream.pointee.avail_in = uInt(source.count)
            repeat {
                piece.withUnsafeMutableBufferPointer { target in
                    stream.pointee.next_out = target.baseAddress
                    stream.pointee.avail_out = uInt(room)
                    _ = CZlib.deflate(stream, flush)
                }
                packed += piece.prefix(room - Int(stream.pointee.avail_out))
            } while stream.pointee.avail_out == 0
        }
    }
}
