import Samples
import Testing

@testable import HubWire

/// The short way of a LIVE body must make what the long way makes, or nothing.
@Suite struct PlainLiveTests {
    private static let time = Timestamp(microseconds: 1_710_484_205_120_000)

    /// What the feed carries by the long way; `nil` when the body is refused.
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

    /// The same by the short way; `nil` when the body is not plain.
    private func short(_ body: [UInt8], person: String?) -> [UInt8]? {
        body.withUnsafeBytes { body in
            guard let live = PlainLive(body) else { return nil }
            let added = PlainLive.added(person: person, plugin: "kitchen\"scale")
            var output = [UInt8](repeating: 0, count: live.count(adding: added))
            let count = output.withUnsafeMutableBytes { live.write(adding: added, time: Self.time, to: $0) }
            return Array(output[..<count])
        }
    }

    @Test(arguments: [
        #"{"type":"weight"}"#,
        #"{"type":"weight","value":72.1,"unit":"kg","device":"020000003001"}"#,
        #"{"value":-0.5e3,"progress":0.25,"type":"weight","x":{"a":[1,2,"€"]},"y":null}"#,
    ])
    func `a plain LIVE body makes the message that the long way makes`(_ body: String) throws {
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
    func `whatever is not plain takes the long way`(_ body: String) {
        #expect(short(Array(body.utf8), person: "me") == nil)
    }

    @Test func `of ten thousand damaged bodies none is published otherwise than by the long way`() {
        var random = SeededGenerator(seed: 7)
        let original = Array(#"{"type":"weight","value":72.1,"unit":"kg","progress":0.5,"device":"02","x":[1]}"#.utf8)
        let pieces = Array(#"{}[]",:.0123e-\ tpersonimu"#.utf8)
        for _ in 0..<10_000 {
            var body = original
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<body.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: body[place] = pieces.randomElement(using: &random) ?? 0
                case 1: body.remove(at: place)
                default: body.insert(pieces.randomElement(using: &random) ?? 0, at: place)
                }
            }
            guard let made = short(body, person: "me") else { continue }
            #expect(made == long(body, person: "me"), "\(String(decoding: body, as: UTF8.self))")
        }
    }

    @Test func `a routing id of any length gives its bytes back and equals no other`() {
        let ids: [[UInt8]] = [
            [], [0], [0, 0], [1], [0, 1], [0, 1, 2, 3, 4], Array(0..<7), Array(0..<8), Array(1..<9),
        ]
        let made = ids.map { bytes in bytes.withUnsafeBytes { RoutingID($0) } }
        #expect(made.map { $0.withUnsafeBytes { Array($0) } } == ids)
        #expect(Set(made).count == ids.count)
        #expect(made[5] == [0, 1, 2, 3, 4])
    }
}
