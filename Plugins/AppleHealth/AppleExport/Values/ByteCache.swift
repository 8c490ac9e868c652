import Samples

/// Caches values made from byte strings, because an export repeats the names of its sources, devices and types millions of times.
///
/// The cache has a maximum size. If it is full, it removes all entries and starts again.
struct ByteCache<Value: AnyObject> {
    private struct Entry {
        var bytes: [UInt8]
        var value: Value
    }

    private var entries: [UInt64: [Entry]] = [:]
    private var count = 0
    private var lastBytes: [UInt8] = []
    private var lastValue: Value?
    private let bound: Int
    /// Values for longer byte strings are not cached.
    private let longest: Int

    init(bound: Int = 4_096, longest: Int = 4_096) { (self.bound, self.longest) = (bound, longest) }

    mutating func value(
        of bytes: UnsafeRawBufferPointer, _ make: (UnsafeRawBufferPointer) -> Value
    ) -> Value {
        if let lastValue, Self.same(lastBytes, bytes) { return lastValue }
        guard bytes.count <= longest else { return make(bytes) }
        let hash = Self.hash(bytes)
        if let found = entries[hash]?.first(where: { Self.same($0.bytes, bytes) }) {
            (lastBytes, lastValue) = (found.bytes, found.value)
            return found.value
        }
        if count >= bound { (entries, count) = ([:], 0) }
        let entry = Entry(bytes: Array(bytes), value: make(bytes))
        entries[hash, default: []].append(entry)
        count += 1
        (lastBytes, lastValue) = (entry.bytes, entry.value)
        return entry.value
    }

    private static func same(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
        known.withUnsafeBytes { $0.hasSameBytes(as: bytes) }
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var (hash, place): (UInt64, Int) = (0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count), 0)
        while place + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            let product = (hash ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
            hash = product.high ^ product.low
            place += 8
        }
        var rest: UInt64 = 0
        while place < bytes.count {
            rest = rest << 8 | UInt64(bytes[place])
            place += 1
        }
        let product = (hash ^ rest).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low
    }
}
