import AppleExport

/// One input of libFuzzer: an XML file as any program may have written it, in pieces of any size.
///
/// Every range must be within the input, and the tags must not depend on the pieces.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let whole = tags(BytesSource(bytes), count)
    precondition(tags(Pieces(bytes, of: 1 + count % 7), count) == whole, "the tags depend on the pieces of the input")
    bytes.withUnsafeBytes { buffer in
        var times = ExportTimeReader()
        if let seconds = times.seconds(buffer) {
            precondition(times.seconds(buffer) == seconds, "a time differs when it is read a second time")
            var utc = UTCWriter()
            let text = Array("\(utc.text(seconds).dropLast()) +0000".replacing("T", with: " ").utf8)
            precondition(
                text.withUnsafeBytes { times.seconds($0) } == seconds,
                "a time changes when it is written and read again")
        }
        if let number = DecimalText.number(buffer) {
            precondition(number.value.isFinite, "a number is not finite")
            var digits: [UInt8] = []
            DecimalText.appendFourDigits(number.value, to: &digits)
            precondition(digits.count <= 16, "four digits make more than 16 bytes")
        }
    }
    return 0
}

private func tags(_ source: some ExportByteSource, _ count: Int) -> [[UInt8]] {
    var tokenizer = XMLTokenizer(source)
    var found: [[UInt8]] = []
    while let token = try? tokenizer.next(), token != .end {
        precondition(tokenizer.offset >= 0 && tokenizer.endOffset <= count, "a tag is outside the file")
        found.append(Array(tokenizer.name))
        for index in 0..<tokenizer.attributeCount {
            found.append(Array(tokenizer.attributeName(index)))
            let (text, _) = XMLText.decoded(tokenizer.value(index))
            precondition(
                !text.utf8.contains { $0 < 9 || $0 == 11 || $0 == 12 }, "the decoded text has a control character")
            found.append(Array(text.utf8))
        }
    }
    return found
}

/// A source that returns a few bytes at a time.
private final class Pieces: ExportByteSource {
    private let bytes: [UInt8]
    private let size: Int
    private var position = 0
    var inputPosition: Int64 { Int64(position) }
    var inputSize: Int64 { Int64(bytes.count) }

    init(_ bytes: [UInt8], of size: Int) { (self.bytes, self.size) = (bytes, size) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ExportError) -> Int {
        let count = min(size, buffer.count, bytes.count - position)
        buffer.copyBytes(from: bytes[position..<(position + count)])
        position += count
        return count
    }
}
