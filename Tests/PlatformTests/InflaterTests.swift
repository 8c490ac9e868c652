import Platform
import Testing

/// The inflated bytes do not depend on the sizes of the input and output pieces.
struct InflaterTests {
    private enum End: Equatable { case whole(rest: Int), cut, damaged }

    /// Inflates with input and output pieces of these sizes.
    private func unpack(_ packed: [UInt8], by input: Int, into output: Int) -> (bytes: [UInt8], end: End) {
        let inflater = Inflater(.gzip)
        var (bytes, rest) = ([UInt8](), packed[...])
        var buffer = [UInt8](repeating: 0, count: output)
        while true {
            let piece = Array(rest.prefix(input))
            let (taken, given) = piece.withUnsafeBytes { source in
                buffer.withUnsafeMutableBytes { inflater.inflate(source, into: $0) }
            }
            bytes += buffer.prefix(given)
            rest = rest.dropFirst(taken)
            switch inflater.progress {
            case .ended: return (bytes, .whole(rest: rest.count))
            case .damaged: return (bytes, .damaged)
            case .goesOn: if taken == 0, given == 0 { return (bytes, .cut) }
            }
        }
    }

    private func pack(_ bytes: [UInt8]) -> [UInt8] {
        var writer = GzipWriter()
        writer.write(bytes)
        return writer.end()
    }

    /// Random bytes made of runs and noise, so that the packed form has both long copies and literals.
    private func bytes(_ count: Int, _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let length = Int.random(in: 1...300, using: &generator)
            let isRun = Bool.random(using: &generator)
            let byte = UInt8.random(in: 0...255, using: &generator)
            bytes += (0..<length).map { _ in isRun ? byte : UInt8.random(in: 0...255, using: &generator) }
        }
        return Array(bytes.prefix(count))
    }

    @Test(arguments: 1...40) func `With any sizes of input and output pieces the inflated bytes equal the original`(
        seed: UInt64
    ) {
        var generator = SeededGenerator(seed: seed)
        let bytes = bytes(Int.random(in: 0...5_000, using: &generator), &generator)
        let packed = pack(bytes)
        for _ in 1...20 {
            let (input, output) = (
                Int.random(in: 1...packed.count, using: &generator), Int.random(in: 1...6_000, using: &generator)
            )
            let found = unpack(packed, by: input, into: output)
            #expect(found.bytes == bytes && found.end == .whole(rest: 0), "pieces of \(input), into \(output)")
        }
        #expect(unpack(packed + [1, 2, 3], by: 7, into: 11).end == .whole(rest: 3))
    }

    @Test func `When the output is full at the end of the input, the rest is given without more input`() {
        // A run: the last bytes of the input expand to many bytes of output.
        let packed = pack([UInt8](repeating: 7, count: 1_000))
        for output in 1...1_000 {
            let found = unpack(packed, by: packed.count, into: output)
            #expect(found.bytes.count == 1_000 && found.end == .whole(rest: 0), "into \(output)")
        }
    }

    @Test func `A truncated input never reports an end, and every changed byte is detected`() {
        var generator = SeededGenerator(seed: 1)
        let bytes = bytes(400, &generator)
        let packed = pack(bytes)
        for count in 0..<packed.count {
            let found = unpack(Array(packed.prefix(count)), by: 64, into: 64)
            #expect(found.end == .cut && bytes.starts(with: found.bytes), "\(count) bytes")
        }
        // Bytes 4 to 9 of the header hold a time, extra flags and a system, which are ignored.
        for place in packed.indices where !(4...9).contains(place) {
            var changed = packed
            changed[place] ^= 1 << UInt8.random(in: 0...7, using: &generator)
            let found = unpack(changed, by: 64, into: 64)
            #expect(found.end != .whole(rest: 0) || found.bytes == bytes, "byte \(place)")
        }
        #expect(unpack(Array("{\"weight\":80}".utf8), by: 64, into: 64).end == .damaged)
    }

    @Test func `The checksum matches the standard when it is computed in pieces`() {
        var sum = CRC32()
        Array("1234".utf8).withUnsafeBytes { sum.add($0) }
        Array("56789".utf8).withUnsafeBytes { sum.add($0) }
        #expect(sum.value == 0xCBF4_3926)
        #expect(CRC32().value == 0)
    }
}
