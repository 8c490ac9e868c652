import Foundation
import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// The vectors of the protocol notes.
///
/// The vectors marked as seen were captured from a real scale and are here only for decoding.
struct VectorTests {
    struct Vector: Decodable, Sendable, CustomStringConvertible {
        struct Record: Decodable {
            var local: String
            var kg: Double
            /// Only for the HS3.
            var ix: UInt8?
        }
        struct Meaning: Decodable {
            var cmd: String?
            var seq: IntOrText?
            var local: String?
            var kg: Double?
            var count: UInt8?
            var records: [Record]?
            var raw: String?
            var sdk_default: Int?
            var error: String?
        }
        /// A number, or a text in other models.
        struct IntOrText: Decodable {
            var number: UInt8?
            init(from decoder: any Decoder) throws { number = try? decoder.singleValueContainer().decode(UInt8.self) }
        }
        var id: String
        var dir: String
        var hex: String
        var decode: Meaning
        var description: String { id }
        var origin: FrameOrigin { dir == "host" ? .host : .scale }
        /// The other vectors are of ciphers and of an address.
        var isFrame: Bool { (dir == "host" || dir == "device") && hex.hasPrefix(dir == "host" ? "b0" : "a0") }
    }

    static let all: [Vector] = ((try? resource("vectors.jsonl")) ?? "").split(separator: "\n").compactMap {
        try? JSONDecoder().decode(Vector.self, from: Data($0.utf8))
    }

    @Test func `every line of the vector file is read`() throws {
        #expect(VectorTests.all.count == 71)
        #expect(try resource("vectors.jsonl").split(separator: "\n").count == 71)
    }

    @Test(arguments: all.filter(\.isFrame)) func `the scanner finds a vector, which encodes back to the same bytes`(
        vector: Vector
    )
        throws
    {
        var scanner = FrameScanner(from: vector.origin)
        let frames = scanner.append(bytes(vector.hex))
        guard vector.decode.error != "checksum" else {
            #expect(frames.isEmpty)
            #expect(scanner.badChecksums == 1)
            return
        }
        #expect(frames.map(\.bytes) == [bytes(vector.hex)])
        #expect(scanner.skippedBytes == 0)
    }

    @Test(arguments: all.filter { $0.id.hasPrefix("H3") && $0.decode.error != "checksum" })
    func `a vector of the HS3 has its known meaning`(vector: Vector) throws {
        var scanner = HS3Frame.scanner(from: vector.origin)
        let frame = try #require(scanner.append(bytes(vector.hex)).first.flatMap(HS3Frame.init))
        let meaning = vector.decode
        #expect(frame.bytes == bytes(vector.hex))
        if let sequence = meaning.seq?.number { #expect(frame.sequence == sequence) }
        let local = meaning.local.flatMap { WallTime($0) }
        #expect((local == nil) == (meaning.local == nil))
        let hostNow = try #require(WallTime("2018-01-29 07:00"))

        switch (HS3ScaleMessage(frame), meaning.error ?? meaning.cmd) {
        case (.acknowledge, "ack"): break
        case (.clock(let digits), "clock"):
            #expect(WallTime(hs3BCD: digits, mode: .nearest, host: hostNow) == local)
            #expect(local?.hs3BCD(mode: .bcd24) == digits)
        case (.idBlock(let block), "id-block"): #expect(block == Array(repeating: 0xFF, count: 16))
        case (.memoryCount(let count), "count"): #expect(count == meaning.count)
        case (.memory(let records, 0), "memory"):
            let expected = try #require(meaning.records)
            #expect(records.map(\.index) == expected.map(\.ix))
            #expect(records.map(\.key.tenthsOfKilogram) == expected.map { Int(($0.kg * 10).rounded()) })
            #expect(
                records.map { WallTime(hs3Packed: $0.key.packedTime, mode: .sdk12)?.description }
                    == expected.map(\.local))
            #expect(records.flatMap(\.bytes) == frame.data)
        case (.weight(let record), "weight"):
            #expect(WallTime(hs3Packed: record.key.packedTime, mode: .sdk12) == local)
            #expect(record.key.tenthsOfKilogram == meaning.kg.map { Int(($0 * 10).rounded()) })
            #expect(local.flatMap { HS3Record($0, tenthsOfKilogram: record.key.tenthsOfKilogram ?? -1) } == record)
        case (.weight(let record), "bcd"): #expect(record.key.tenthsOfKilogram == nil)
        case (.error(let raw), "error"):
            #expect(String(raw, radix: 16) == meaning.raw)
            #expect(ScaleError.sent(raw, by: .hs3).code == meaning.sdk_default)
        case (_, let command?) where vector.origin == .host:
            switch (HS3HostMessage(frame), command) {
            case (.open, "open"), (.startMemory, "start-memory"), (.acknowledge, "ack"): break
            case (.setClock(let time), "set-clock"):
                #expect(time == local)
                #expect(time.hs3Binary(for: .setClock) == frame.data)
            case (.lastKnown(let time), "last-known"):
                #expect(time == local)
                #expect(time.hs3Binary(for: .lastKnown) == frame.data)
            default: Issue.record("\(vector.id) was read as something else than \(command)")
            }
        default: Issue.record("\(vector.id) was read as something else")
        }
    }

    @Test func `the hour of a captured afternoon record is 17 by default and 21 with raw24`() throws {
        let evening = try #require(VectorTests.all.first { $0.id == "H3-12" })
        var scanner = HS3Frame.scanner(from: .scale)
        let frame = try #require(scanner.append(bytes(evening.hex)).first.flatMap(HS3Frame.init))
        guard case .memory(let records, _) = HS3ScaleMessage(frame) else {
            Issue.record("not a memory frame")
            return
        }
        let time = try #require(records.first).key.packedTime
        #expect(WallTime(hs3Packed: time, mode: .sdk12)?.hour == 17)
        #expect(WallTime(hs3Packed: time, mode: .raw24)?.hour == 21)
    }
}
