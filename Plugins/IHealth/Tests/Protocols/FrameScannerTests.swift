import HubProcess
import Platform
import Testing

@testable import ScaleProtocols

struct FrameScannerTests {
    /// Frames, noise, cut frames and damaged frames in any order; the noise has many head bytes and product bytes.
    static func stream(_ random: inout SeededGenerator) -> [UInt8] {
        var stream: [UInt8] = []
        for _ in 0..<Int.random(in: 1...12, using: &random) {
            let data = (0..<Int.random(in: 0...30, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
            }
            var frame = HS3Frame(checked: .scale, .random(in: 0...255, using: &random), 7, data).bytes
            switch Int.random(in: 0..<5, using: &random) {
            case 0: frame[Int.random(in: 0..<frame.count, using: &random)] ^= 0x21
            case 1: frame = Array(frame.prefix(Int.random(in: 0..<frame.count, using: &random)))
            case 2:
                frame = (0..<20).map { _ in [0xA0, 0xB0, 0xA6, 0x03, 0x09, 0xFF].randomElement(using: &random) ?? 0 }
            default: break
            }
            stream += frame
        }
        return stream
    }

    @Test(arguments: Thoroughness.seeds(300))
    func `the frames and counts of a stream do not depend on its pieces`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let stream = FrameScannerTests.stream(&random)
        for product in [HS3Frame.product, nil] {
            var whole = FrameScanner(from: .scale, product: product)
            let expected = whole.append(stream)
            var cut = FrameScanner(from: .scale, product: product)
            var (found, start): ([Frame], Int) = ([], 0)
            while start < stream.count {
                let end = min(stream.count, start + Int.random(in: 1...9, using: &random))
                found += cut.append(stream[start..<end])
                start = end
            }
            #expect(found == expected, "seed \(seed)")
            #expect(cut.skippedBytes == whole.skippedBytes && cut.badChecksums == whole.badChecksums, "seed \(seed)")
            #expect(cut.flush() == whole.flush(), "seed \(seed)")
            #expect(!cut.isInsideFrame && cut.skippedBytes == whole.skippedBytes, "seed \(seed)")
        }
    }

    @Test(arguments: Thoroughness.seeds(200))
    func `every byte is part of a frame or counted as skipped`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let stream = FrameScannerTests.stream(&random)
        var scanner = HS3Frame.scanner(from: .scale)
        let frames = scanner.append(stream) + scanner.flush()
        #expect(frames.map(\.bytes.count).reduce(0, +) + scanner.skippedBytes == stream.count, "seed \(seed)")
    }

    @Test func `a frame inside a damaged frame is found`() {
        let inner = HS3Frame(checked: .scale, 0x26, 2, [7]).bytes
        var scanner = HS3Frame.scanner(from: .scale)
        #expect(scanner.append([0xA0, 0x0B, 0xA6] + inner + inner).map(\.bytes) == [inner, inner])
        #expect(scanner.badChecksums == 1)
        #expect(scanner.skippedBytes == 3)
    }

    @Test func `a false head hides a frame only until the stream pauses`() {
        let frame = HS3Frame(checked: .scale, 0x26, 2, [7]).bytes
        var scanner = HS3Frame.scanner(from: .scale)
        #expect(scanner.append([0xA0, 0xF0, 0xA6] + frame).isEmpty)
        #expect(scanner.isInsideFrame)
        #expect(scanner.flush().map(\.bytes) == [frame])
        #expect(!scanner.isInsideFrame)
    }

    @Test func `a head byte inside a payload starts no frame`() {
        let frame = HS3Frame(checked: .scale, 0x32, 1, [0xA0, 0x03, 0xA6, 0xFF, 0x01, 0xA6]).bytes
        var scanner = HS3Frame.scanner(from: .scale)
        #expect(scanner.append(frame).map(\.bytes) == [frame])
        #expect(scanner.skippedBytes == 0)
    }

    @Test func `the scanner never holds more than one unfinished frame`() {
        var (scanner, random) = (FrameScanner(from: .scale), SeededGenerator(seed: 5))
        var taken = 0
        for _ in 0..<2000 {
            let piece = (0..<97).map { _ in
                [0xA0, 0xFF, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
            }
            taken += piece.count
            let framed = scanner.append(piece).map(\.bytes.count).reduce(0, +)
            taken -= framed
            #expect(taken - scanner.skippedBytes <= 257)
        }
    }

    @Test func `the longest possible frame is found`() throws {
        let longest = try #require(Frame(origin: .scale, body: Array(repeating: 0xA6, count: 255)))
        var scanner = FrameScanner(from: .scale)
        #expect(scanner.append(longest.bytes) == [longest])
        #expect(longest.bytes.count == 258)
        #expect(Frame(origin: .scale, body: Array(repeating: 0, count: 256)) == nil)
    }
}
