import JSON
import Platform
import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// Decodes every vector of the notes and compares each member: the result must be exactly the members under `decode`.
///
/// The vectors marked as seen were captured from a real scale and are here only for decoding.
struct VectorTests {
    struct Vector: Sendable, CustomStringConvertible {
        let id, dir, hex: String
        let decode: [String: JSONTree]
        var description: String { id }
        var origin: FrameOrigin { dir == "host" ? .host : .scale }
        /// The other vectors are of ciphers and of an address.
        var isFrame: Bool { (dir == "host" || dir == "device") && hex.hasPrefix(dir == "host" ? "b0" : "a0") }
    }

    static let all: [Vector] = ((try? resource("vectors.jsonl")) ?? "").split(separator: "\n").compactMap { line in
        guard let json = JSONTree(Array(line.utf8)), let id = json["id"]?.text, let dir = json["dir"]?.text,
            let hex = json["hex"]?.text, let decode = json["decode"]?.members
        else { return nil }
        return Vector(
            id: id, dir: dir, hex: hex, decode: Dictionary(decode.map { ($0.name, $0.value) }) { _, last in last })
    }

    @Test func `all 71 vectors have their known meanings, and are counted`() throws {
        #expect(try resource("vectors.jsonl").split(separator: "\n").count == 71)
        var passed = 0
        for vector in Self.all {
            var meaning = try Self.meaning(of: vector)
            // Notes are explanations, not fields.
            for name in vector.decode.keys where name != "note" {
                let found = meaning.removeValue(forKey: name)
                #expect(Self.isSame(found, vector.decode[name]), "\(vector.id): \(name) is \(found?.json ?? "missing")")
            }
            passed += 1
        }
        #expect(passed == 71)
        print("vectors of the protocol notes: \(passed) of 71 pass")
    }

    @Test(arguments: all.filter(\.isFrame)) func `the scanner finds a vector, which encodes back to the same bytes`(
        vector: Vector
    ) throws {
        var scanner = FrameScanner(from: vector.origin)
        let frames = scanner.append(bytes(vector.hex))
        guard vector.decode["error"]?.text != "checksum" else {
            #expect(frames.isEmpty)
            #expect(scanner.badChecksums == 1)
            return
        }
        #expect(frames.map(\.bytes) == [bytes(vector.hex)])
        #expect(scanner.skippedBytes == 0)
    }

    @Test func `the hour of a captured afternoon record is 17 by default and 21 with raw24`() throws {
        let frame = try #require(HS3Frame(try Self.frame("H3-12")))
        guard case .memory(let records, _) = HS3ScaleMessage(frame) else {
            Issue.record("not a memory frame")
            return
        }
        let time = try #require(records.first).key.packedTime
        #expect(WallTime(hs3Packed: time, mode: .sdk12)?.hour == 17)
        #expect(WallTime(hs3Packed: time, mode: .raw24)?.hour == 21)
    }

    @Test func `the host acknowledges each fragment of the HS4 separately, and no passing weight`() throws {
        for (id, acknowledgement) in [
            ("H4-2", "b0 03 a0 03 a6 49"), ("H4-7a", "b0 03 a1 0f a6 56"), ("H4-7b", "b0 03 a0 11 a6 57"),
        ] {
            let frame = try #require(FamilyFrame(try Self.frame(id)))
            #expect(frame.acknowledgement.bytes == bytes(acknowledgement), "\(id)")
        }
        let passing = try #require(FamilyFrame(try Self.frame("H4-10")))
        #expect(!passing.wantsAcknowledgement)
    }

    @Test func `a weighing with shoes has no composition`() throws {
        let shoes = try #require(Self.all.first { $0.id == "H5-14" })
        let message = try #require(HS5Datagram(bytes(shoes.hex))).message
        let record = try #require(WallTime("2024-12-31 23:59:59").flatMap { HS5Record($0, tenthsOfKilogram: 1500) })
        #expect(HS5ScaleMessage(message) == .composition(record))
    }

    /// The frame of a scale's vector.
    private static func frame(_ id: String) throws -> Frame {
        let vector = try #require(all.first { $0.id == id })
        var scanner = FrameScanner(from: .scale)
        return try #require(scanner.append(bytes(vector.hex)).first)
    }

    /// Whether two values are equal; numbers are compared to a thousandth, as the notes write them.
    static func isSame(_ left: JSONTree?, _ right: JSONTree?) -> Bool {
        guard let left, let right else { return left == right }
        if let one = left.decimal, let other = right.decimal { return abs(one - other) < 0.001 }
        if let some = left.list, let others = right.list {
            return some.count == others.count && zip(some, others).allSatisfy(isSame)
        }
        if let others = right.members { return others.allSatisfy { isSame(left[$0.name], $0.value) } }
        return left == right
    }

    private static func meaning(of vector: Vector) throws -> [String: JSONTree] {
        switch vector.id.prefix(2) {
        case "H3": return try hs3(vector)
        case "H4", "G5": return try VectorHS4.meaning(of: vector)
        case "H5": return try VectorHS5.meaning(of: vector)
        case "L1":
            let address = try #require(BluetoothAddress("AA:BB:CC:DD:EE:FF"))
            #expect(address.socketAddress(channel: 6) == bytes(vector.hex))
            return [:]
        default: return try sister(vector)
        }
    }

    private static func kilograms(_ tenths: Int?) -> JSONTree? { tenths.map { JSONTree(Double($0) / 10) } }

    private static func hs3(_ vector: Vector) throws -> [String: JSONTree] {
        var scanner = HS3Frame.scanner(from: vector.origin)
        guard let frame = scanner.append(bytes(vector.hex)).first.flatMap(HS3Frame.init) else {
            return scanner.badChecksums == 1 ? ["error": "checksum"] : [:]
        }
        #expect(frame.bytes == bytes(vector.hex))
        var meaning: [String: JSONTree] = ["seq": JSONTree(Int(frame.sequence))]
        func read(_ record: HS3Record) -> [String: JSONTree] {
            var members: [String: JSONTree] = [:]
            let time = WallTime(hs3Packed: record.key.packedTime, mode: .sdk12)
            members["local"] = time.map { .text("\($0)") }
            members["kg"] = kilograms(record.key.tenthsOfKilogram)
            members["ix"] = record.index.map { JSONTree(Int($0)) }
            return members
        }
        guard vector.origin == .scale else {
            switch HS3HostMessage(frame) {
            case .open: meaning["cmd"] = "open"
            case .acknowledge: meaning["cmd"] = "ack"
            case .startMemory: meaning["cmd"] = "start-memory"
            case .setClock(let time):
                #expect(time.hs3Binary(for: .setClock) == frame.data)
                meaning.merge(["cmd": "set-clock", "local": .text("\(time)")]) { $1 }
            case .lastKnown(let time):
                #expect(time.hs3Binary(for: .lastKnown) == frame.data)
                meaning.merge(["cmd": "last-known", "local": .text("\(time)")]) { $1 }
            case .unknown: break
            }
            return meaning
        }
        switch HS3ScaleMessage(frame) {
        case .acknowledge: meaning["cmd"] = "ack"
        case .clock(let digits):
            let time = WallTime(hs3BCD: digits, mode: .bcd24, host: .startOf2000)
            let host = try #require(WallTime("2018-01-29 07:00"))
            #expect(WallTime(hs3BCD: digits, mode: .nearest, host: host) == time)
            #expect(time?.hs3BCD(mode: .bcd24) == digits)
            meaning["cmd"] = "clock"
            meaning["local"] = time.map { .text("\($0)") }
        case .idBlock(let block):
            #expect(block == Array(repeating: 0xFF, count: 16))
            meaning["cmd"] = "id-block"
        case .memoryCount(let count): meaning.merge(["cmd": "count", "count": JSONTree(Int(count))]) { $1 }
        case .memory(let records, let trailing):
            #expect(trailing == 0 && records.flatMap(\.bytes) == frame.data)
            meaning.merge(["cmd": "memory", "records": .list(records.map { JSONTree(read($0)) })]) { $1 }
        case .weight(let record):
            meaning["cmd"] = "weight"
            meaning.merge(read(record)) { $1 }
            if let tenths = record.key.tenthsOfKilogram {
                let time = WallTime(hs3Packed: record.key.packedTime, mode: .sdk12)
                #expect(time.flatMap { HS3Record($0, tenthsOfKilogram: tenths) } == record)
            } else {
                meaning["error"] = "bcd"
            }
        case .error(let raw):
            let code = ScaleError.sent(raw, by: .hs3).code
            meaning.merge(["cmd": "error", "raw": .text([raw].hexadecimal)]) { $1 }
            meaning["sdk_default"] = code.map { JSONTree($0) }
        case .unknown, .malformed: break
        }
        return meaning
    }

    /// Decodes frames of sister products, and the ciphers.
    private static func sister(_ vector: Vector) throws -> [String: JSONTree] {
        let words = vector.hex.split(separator: " ").map(String.init)
        func named(_ name: String) throws -> [UInt8] {
            let place = try #require(words.firstIndex(of: name))
            return try #require([UInt8](hexadecimal: words[place + 1]))
        }
        switch vector.id {
        case "G3":
            let cipher = XXTEA.encrypt(try named("data"), key: try named("key"))
            return ["cipher": .text(cipher.hexadecimal)]
        case "G4":
            let (key, first, last) = (try named("J"), try named("e"), try named("d"))
            let seed = XXTEA.encrypt(ScaleKey.reversed(first), key: key)
            let answer = ScaleKey(key)?.answer(to: first + (try named("b")) + last)
            return ["seed": .text(seed.hexadecimal), "answer": .text(try #require(answer).hexadecimal)]
        default:
            var scanner = FrameScanner(from: vector.origin)
            let frame = try #require(scanner.append(bytes(vector.hex)).first.flatMap(FamilyFrame.init))
            #expect(frame.bytes == bytes(vector.hex))
            return [
                "state": .text([frame.state.byte].hexadecimal), "seq": JSONTree(Int(frame.sequence)),
                "product": .text([frame.product].hexadecimal), "cmd": .text(Array(frame.content.prefix(1)).hexadecimal),
            ]
        }
    }
}

extension JSONTree {
    init(_ members: [String: JSONTree]) { self = .object(members.map { Member($0.key, $0.value) }) }
}
