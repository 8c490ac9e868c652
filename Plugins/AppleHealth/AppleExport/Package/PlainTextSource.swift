/// Converts UTF-16 text to UTF-8, because an editor may have saved an export as UTF-16, with or without a byte order mark.
///
/// All other text passes unchanged.
final class PlainTextSource: ExportByteSource {
    private enum Form { case asItIs, littleEndian, bigEndian }

    private let source: any ExportByteSource
    private let form: Form
    /// Bytes that were read but not returned yet; for UTF-16 also the first half of a surrogate pair.
    private var rest: [UInt8]
    private var hasEnded = false
    private static let piece = 64 << 10

    var inputPosition: Int64 { source.inputPosition }
    var inputSize: Int64 { source.inputSize }
    var hasWrongSum: Bool { source.hasWrongSum }

    init(_ source: any ExportByteSource) throws(ExportError) {
        self.source = source
        let head = try source.head(4)
        form = PlainTextSource.form(of: head)
        // The byte order mark is not part of the text.
        let mark = head.starts(with: [0xFF, 0xFE]) || head.starts(with: [0xFE, 0xFF]) ? 2 : 0
        rest = Array(head.dropFirst(form == .asItIs ? 0 : mark))
    }

    private static func form(of head: [UInt8]) -> Form {
        // UTF-32 starts with the same bytes as UTF-16, but no program writes it.
        if head.starts(with: [0xFF, 0xFE]) || head.starts(with: [0x3C, 0, 0x3F, 0])
            || head.starts(with: [0x3C, 0, 0x48, 0])
        {
            return .littleEndian
        }
        if head.starts(with: [0xFE, 0xFF]) || head.starts(with: [0, 0x3C, 0, 0x3F])
            || head.starts(with: [0, 0x3C, 0, 0x48])
        {
            return .bigEndian
        }
        return .asItIs
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ExportError) -> Int {
        guard form != .asItIs else {
            guard rest.isEmpty else { return give(rest.count, into: buffer) }
            return try source.read(into: buffer)
        }
        // Characters are not split, so a buffer smaller than the longest character gets no bytes, as at the end.
        guard buffer.count >= 4 else { return 0 }
        // A code unit becomes at most three bytes, and a surrogate pair four.
        let most = max(4, min(PlainTextSource.piece, buffer.count / 3 * 2))
        while true {
            if rest.count < 4, !hasEnded {
                let more = try source.piece(upTo: most)
                hasEnded = more.isEmpty
                rest += more
            }
            let count = transcode(into: buffer)
            if count > 0 || hasEnded { return count }
        }
    }

    private func give(_ count: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(count, buffer.count)
        for place in 0..<count { buffer[place] = rest[place] }
        rest.removeFirst(count)
        return count
    }

    private func transcode(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        func unit(_ place: Int) -> UInt16 {
            form == .littleEndian
                ? UInt16(rest[place]) | UInt16(rest[place + 1]) << 8
                : UInt16(rest[place + 1]) | UInt16(rest[place]) << 8
        }
        var (place, count) = (0, 0)
        while place + 2 <= rest.count, count + 4 <= buffer.count {
            let first = unit(place)
            var (scalar, length) = (Unicode.Scalar(first), 2)
            if UTF16.isLeadSurrogate(first) {
                guard place + 4 <= rest.count || hasEnded else { break }
                if place + 4 <= rest.count, UTF16.isTrailSurrogate(unit(place + 2)) {
                    let pair = UInt32(first & 0x3FF) << 10 | UInt32(unit(place + 2) & 0x3FF)
                    (scalar, length) = (Unicode.Scalar(pair + 0x10000), 4)
                }
            }
            for byte in Unicode.UTF8.encode(scalar ?? "\u{FFFD}") ?? Unicode.UTF8.encodedReplacementCharacter {
                buffer[count] = byte
                count += 1
            }
            place += length
        }
        rest.removeFirst(place)
        if hasEnded, rest.count == 1 {
            // Half a code unit at the end of the file is dropped.
            rest = []
        }
        return count
    }
}
