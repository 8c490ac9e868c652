import CZlib

/// The checksum that zip and gzip store for the uncompressed data (CRC-32 of ISO 3309).
public struct CRC32: Sendable, Hashable {
    public private(set) var value: UInt32 = 0

    public init() {}

    public mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            let piece = rest.prefix(1 << 30)
            let start = UnsafeRawBufferPointer(rebasing: piece).bindMemory(to: UInt8.self).baseAddress
            value = UInt32(truncatingIfNeeded: crc32(UInt(value), start, uInt(piece.count)))
            rest = UnsafeRawBufferPointer(rebasing: rest[piece.endIndex...])
        }
    }
}
