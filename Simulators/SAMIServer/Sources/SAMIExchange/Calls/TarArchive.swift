/// A tar file of texts (POSIX ustar), in a gzip envelope.
struct TarArchive {
    private var bytes: [UInt8] = []
    private let time: Int64

    /// - Parameter time: the time of all its files, in seconds since 1970.
    init(at time: Int64) { self.time = time }

    mutating func add(_ name: String, _ text: String) {
        let content = Array(text.utf8)
        var header = [UInt8](repeating: 0, count: 512)
        func put(_ text: String, at offset: Int) {
            for (place, byte) in text.utf8.prefix(100).enumerated() { header[offset + place] = byte }
        }
        func octal(_ value: Int64, _ digits: Int) -> String {
            let text = String(value, radix: 8)
            return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
        }
        put(name, at: 0)
        put("0000644", at: 100)
        put("0000000", at: 108)
        put("0000000", at: 116)
        put(octal(Int64(content.count), 11), at: 124)
        put(octal(time, 11), at: 136)
        put("        ", at: 148)
        put("0", at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        put(octal(Int64(header.reduce(0) { $0 + Int($1) }), 6), at: 148)
        header[154] = 0
        bytes += header + content
        bytes += [UInt8](repeating: 0, count: (512 - content.count % 512) % 512)
    }

    /// Ends the archive and compresses it.
    ///
    /// Deflate with stored blocks: every gzip reads it, and no archive here is large enough to need compression.
    func gzipped() -> [UInt8] {
        let tar = bytes + [UInt8](repeating: 0, count: 1024)
        var result: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        for start in stride(from: 0, to: tar.count, by: 65_535) {
            let block = tar[start..<min(start + 65_535, tar.count)]
            let size = UInt16(block.count)
            result.append(block.endIndex == tar.count ? 1 : 0)
            result += Self.little(UInt32(size), 2) + Self.little(UInt32(~size), 2) + block
        }
        return result + Self.little(Self.checksum(tar), 4) + Self.little(UInt32(truncatingIfNeeded: tar.count), 4)
    }

    private static func little(_ value: UInt32, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
    }

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }

    /// CRC-32 of IEEE 802.3.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF as UInt32) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ ($0 >> 8) }
    }
}
