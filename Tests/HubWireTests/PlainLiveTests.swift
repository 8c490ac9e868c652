import HubProcess
import Platform
import Samples
import Testing

@testable import HubWire

/// The fast path for a LIVE body must give the same message as the general path, or none.
@Suite struct PlainLiveTests {
    private static let time = Timestamp(microseconds: 1_710_484_205_120_000)

    /// The feed message of the general path, or `nil` if the body is refused.
    private func long(_ body: [UInt8], person: String?) -> [UInt8]? {
        let message = body.withUnsafeBytes { body in
            Array("LIVE".utf8).withUnsafeBytes { try? ClientMessage.decode(verb: $0, body: body) }
        }
        guard case .live(let live) = message else { return nil }
        return live.body.setting([
            ("person", person.map(RawJSON.string) ?? RawJSON(trusted: Array("null".utf8))),
            ("source", .string("kitchen\"scale")), ("time", .string(Self.time.text)),
        ])?.bytes
    }

    /// The feed message of the fast path, or `nil` if the body is not plain.
    private func short(_ body: [UInt8], person: String?) -> [UInt8]? {
        body.withUnsafeBytes { body in
            PlainLive(body).map { published($0, person: person) }
        }
    }

    private func published(_ live: PlainLive, person: String?) -> [UInt8] {
        var addition = PlainLive.Addition(person: person, plugin: "kitchen\"scale", time: Timestamp(microseconds: 1))
        addition.set(Self.time)
        var output = [UInt8](repeating: 0, count: live.count(adding: addition))
        output.withUnsafeMutableBytes { live.write(adding: addition, to: $0) }
        return output
    }

    @Test(arguments: [
        #"{"type":"weight"}"#,
        #"{"type":"weight","value":72.1,"unit":"kg","device":"020000003001"}"#,
        #"{"value":-0.5e3,"progress":0.25,"type":"weight","x":{"a":[1,2,"€"]},"y":null}"#,
    ])
    func `a plain LIVE body gives the same message on both paths`(_ body: String) throws {
        for person in ["me", "A\"b", nil] {
            let made = try #require(short(Array(body.utf8), person: person))
            #expect(made == long(Array(body.utf8), person: person))
        }
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"value":1}"#, #" {"type":"weight"}"#, #"{"type":"weight"} "#, #"{"type": "weight"}"#,
        #"{"type":"weight","type":"height"}"#, #"{"type":"wei\u0067ht"}"#, #"{"typ\u0065":"weight"}"#,
        #"{"type":"weight","person":"me"}"#, #"{"type":"weight","source":1}"#, #"{"type":"weight","time":""}"#,
        #"{"type":"weight","subject":{"slot":1}}"#, #"{"type":"weight","value":"1"}"#,
        #"{"type":"weight","value":1e999}"#,
        #"{"type":"weight","progress":1.5}"#, #"{"type":"weight","unit":1}"#, #"{"type":"weight","x":[1, 2]}"#,
        #"{"type":"weight","device":"\ud800"}"#, #"{"type":7}"#, #"{"type":"weight""#, #"{"type":"weight","value":1}}"#,
    ])
    func `a body that is not plain takes the general path`(_ body: String) {
        #expect(short(Array(body.utf8), person: "me") == nil)
    }

    /// The body after a random number of bytes were replaced, removed or inserted.
    private func damaged(
        _ original: [UInt8], by changes: ClosedRange<Int>, _ pieces: [UInt8], _ random: inout SeededGenerator
    ) -> [UInt8] {
        var body = original
        for _ in 0..<Int.random(in: changes, using: &random) {
            let place = Int.random(in: 0..<body.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: body[place] = pieces.randomElement(using: &random) ?? 0
            case 1: body.remove(at: place)
            default: body.insert(pieces.randomElement(using: &random) ?? 0, at: place)
            }
        }
        return body
    }

    @Test func `no damaged body gives a different message on the fast path`() {
        var random = SeededGenerator(seed: 7)
        let original = Array(#"{"type":"weight","value":72.1,"unit":"kg","progress":0.5,"device":"02","x":[1]}"#.utf8)
        let pieces = Array(#"{}[]",:.0123e-\ tpersonimu"#.utf8)
        for _ in 0..<Thoroughness.rounds(10_000) {
            let body = damaged(original, by: 1...3, pieces, &random)
            guard let made = short(body, person: "me") else { continue }
            #expect(made == long(body, person: "me"), "\(String(decoding: body, as: UTF8.self))")
        }
    }

    /// The type and the published message, from a reader that may have read other bodies, or `nil` if the body is not plain.
    private func read(_ body: [UInt8], _ reader: inout PlainLiveReader) -> (type: [UInt8], made: [UInt8])? {
        body.withUnsafeBytes { body in
            reader.read(body).map { (Array($0.type), published($0, person: "me")) }
        }
    }

    @Test(arguments: [
        "0", "-0", "7", "-7", "72.5", "-0.25", "1234567890.12345", "01", "-01", "00", "-", "", ".", "1.", ".5", "1.5.5",
        "1e5", "1E-5", "1e999", "12345678901234567", "123456789012345678901234567890.5", "+1", "1 ", " 1", "\"1\"",
        "true",
        "1,\"unit\":1", "1}", "-.5", "--1", "1-1", "9999999999999999", "[]", "null",
    ])
    func `a body that differs from the previous one only in its number is read as if it came alone`(_ number: String) {
        for (head, tail) in [
            (#"{"type":"weight","value":"#, #","unit":"kg"}"#), (#"{"value":"#, #","type":"weight","progress":0.5}"#),
            (#"{"type":"weight","x":{"value":1},"value":"#, "}"),
        ] {
            var reader = PlainLiveReader()
            #expect(read(Array((head + "72.1" + tail).utf8), &reader) != nil)
            let body = Array((head + number + tail).utf8)
            let found = read(body, &reader)
            #expect(found?.made == short(body, person: "me"))
            #expect(found == nil || found?.type == Array("weight".utf8))
        }
    }

    @Test func `a reader gives the same results for a sequence of bodies as for each alone`() {
        var random = SeededGenerator(seed: 11)
        var reader = PlainLiveReader()
        let originals = [
            #"{"type":"weight","value":72.1,"unit":"kg"}"#, #"{"value":7,"type":"heartRate","device":"02"}"#,
            #"{"type":"weight","progress":0.5}"#,
        ].map { Array($0.utf8) }
        let pieces = Array(#"{}[]",:.0123e-\ tv"#.utf8)
        for _ in 0..<Thoroughness.rounds(10_000) {
            let body = damaged(originals.randomElement(using: &random) ?? [], by: 0...2, pieces, &random)
            let found = read(body, &reader)
            let type = body.withUnsafeBytes { PlainLive($0).map { Array($0.type) } }
            #expect(found?.made == short(body, person: "me"), "\(String(decoding: body, as: UTF8.self))")
            #expect(found?.type == type, "\(String(decoding: body, as: UTF8.self))")
        }
    }

    @Test func `a routing id of any length keeps its bytes and differs from all others`() {
        let ids: [[UInt8]] = [
            [], [0], [0, 0], [1], [0, 1], [0, 1, 2, 3, 4], Array(0..<7), Array(0..<8), Array(1..<9),
        ]
        let made = ids.map { bytes in bytes.withUnsafeBytes { RoutingID($0) } }
        #expect(made.map { $0.withUnsafeBytes { Array($0) } } == ids)
        #expect(Set(made).count == ids.count)
        #expect(made[5] == [0, 1, 2, 3, 4])
    }
}
