import CZlib

/// Unpacks one gzip member (RFC 1952) piece by piece, so that nothing grows larger than who reads wants it.
struct GzipReader: ~Copyable {
    private let bytes: [UInt8]
    private let stream: UnsafeMutablePointer<z_stream>
    private var taken = 0
    private var hasEnded = false

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 16 beside the window: with the header and the sum of gzip, and nothing else.
        inflateInit2_(stream, 15 + 16, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Exactly so many bytes; fewer at the end alone.
    mutating func read(_ count: Int) throws(PackRefusal) -> [UInt8] {
        var (piece, filled) = ([UInt8](repeating: 0, count: count), 0)
        while filled < count, !hasEnded {
            let input = min(bytes.count - taken, 1 << 20)
            let code = bytes.withUnsafeBufferPointer { source in
                piece.withUnsafeMutableBufferPointer { target in
                    stream.pointee.next_in = source.baseAddress.map { UnsafeMutablePointer(mutating: $0 + taken) }
                    stream.pointee.avail_in = uInt(input)
                    stream.pointee.next_out = target.baseAddress.map { $0 + filled }
                    stream.pointee.avail_out = uInt(count - filled)
                    return inflate(stream, Z_NO_FLUSH)
                }
            }
            taken += input - Int(stream.pointee.avail_in)
            filled = count - Int(stream.pointee.avail_out)
            switch code {
            case Z_OK: continue
            case Z_STREAM_END:
                hasEnded = true
                guard taken == bytes.count else {
                    throw PackRefusal(
                        "\(bytes.count - taken) bytes come after its end: it is not a pack as it was made")
                }
            case Z_BUF_ERROR: throw PackRefusal("it ends in the middle: it was not copied or downloaded whole")
            default: throw PackRefusal("it is not a pack, or is damaged: what gzip has to unpack in it cannot be read")
            }
        }
        return Array(piece.prefix(filled))
    }
}

/// Packs bytes as one gzip member without a name and a time: the same bytes give the same member.
struct GzipWriter: ~Copyable {
    private(set) var packed: [UInt8] = []
    private let stream: UnsafeMutablePointer<z_stream>

    init() {
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

    mutating func write(_ bytes: [UInt8]) { deflate(bytes, Z_NO_FLUSH) }

    mutating func end() -> [UInt8] {
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
