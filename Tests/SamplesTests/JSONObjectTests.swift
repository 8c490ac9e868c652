import Foundation
import HubProcess
import Platform
import Testing

@testable import Samples

/// Metadata and extra members: RFC 8259, compacted, limited in size, otherwise kept byte for byte.
@Suite struct JSONObjectTests {
    @Test(arguments: [
        ("{}", "{}"),
        (" \t\r\n{ \n } \t", "{}"),
        (#"{"a":1}"#, #"{"a":1}"#),
        (#"{ "b" : 1.00 , "a" : -0.0E+10 }"#, #"{"b":1.00,"a":-0.0E+10}"#),
        (
            #"{"n":[0, -0, 10, 1e5, 1E-5, 0.10, 123456789012345678901234567890, 1e999]}"#,
            #"{"n":[0,-0,10,1e5,1E-5,0.10,123456789012345678901234567890,1e999]}"#
        ),
        (#"{"w":[true , false , null]}"#, #"{"w":[true,false,null]}"#),
        (#"{"o":{ },"a":[ ],"s":""}"#, #"{"o":{},"a":[],"s":""}"#),
        (#"{"a b":" two  spaces\t\n "}"#, #"{"a b":" two  spaces\t\n "}"#),
        (#"{"e":"\"\\\/\b\f\n\r\t\u0000\u001F\u00e9"}"#, #"{"e":"\"\\\/\b\f\n\r\t\u0000\u001F\u00e9"}"#),
        (#"{"pair":"\ud83d\ude00\uD83D\uDE00"}"#, #"{"pair":"\ud83d\ude00\uD83D\uDE00"}"#),
        (#"{"é😀":"é😀 \#u{7F}\#u{2028}"}"#, #"{"é😀":"é😀 \#u{7F}\#u{2028}"}"#),
        (#"{"a":1,"a":2}"#, #"{"a":1,"a":2}"#),
    ])
    func `an object keeps its digits, escapes and order, and loses the space between tokens`(
        text: String, compact: String
    ) {
        #expect(JSONObject(text)?.text == compact)
        #expect(JSONObject(compact)?.text == compact)
    }

    @Test(arguments: [
        "", " ", "1", "null", "true", #""a""#, "[]", "[{}]", "{", "}", "{}}", "{}{}", "{} x", "\u{FEFF}{}", "{}\0",
        "\0{}", "{\u{A0}}", "{\u{0B}}",
        "{//\n}", "{/**/}", #"{"a"}"#, #"{"a":}"#, #"{"a" 1}"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a":1 "b":2}"#,
        #"{"a":1;"b":2}"#, #"{"a":1,,"b":2}"#,
        "{a:1}", "{'a':1}", "{1:1}", "{null:1}", #"{"a":'b'}"#, #"{"a":[}"#, #"{"a":[1,]}"#, #"{"a":[,1]}"#,
        #"{"a":[1 2]}"#, #"{"a":[1}"#, #"{"a":{]}"#,
        #"{"a":[1]]}"#, #"{"a":[1:2]}"#, #"{"a":True}"#, #"{"a":tru}"#, #"{"a":truee}"#, #"{"a":nul}"#,
        #"{"a":undefined}"#, #"{"a":NaN}"#,
        #"{"a":Infinity}"#, #"{"a":-Infinity}"#, #"{"a":01}"#, #"{"a":-01}"#, #"{"a":00}"#, #"{"a":-}"#, #"{"a":+1}"#,
        #"{"a":.5}"#, #"{"a":5.}"#,
        #"{"a":-.5}"#, #"{"a":1e}"#, #"{"a":1e+}"#, #"{"a":1e1.5}"#, #"{"a":1.e1}"#, #"{"a":0x10}"#, #"{"a":1_0}"#,
        #"{"a":1 0}"#, #"{"a":- 1}"#, #"{"a":１}"#,
        #"{"a":"b}"#, #"{"a":"\x41"}"#, #"{"a":"\'"}"#, #"{"a":"\"#, #"{"a":"\u"}"#, #"{"a":"\u12"}"#,
        #"{"a":"\u12G4"}"#, #"{"a":"\U0041"}"#,
        #"{"a":"\u 041"}"#, #"{"a":"\u+041"}"#, #"{"a":"\ud83d"}"#, #"{"a":"\ude00"}"#, #"{"a":"\ud83d\u0041"}"#,
        #"{"a":"\ud83d\ud83d"}"#,
        #"{"a":"\ude00\ud83d"}"#, #"{"a":"\ud83dx"}"#, #"{"a":"\ud83d\n"}"#, #"{"\udc00":1}"#, "{\"a\":\"\n\"}",
        "{\"a\":\"\t\"}", "{\"a\":\"\0\"}",
        "{\"a\":\"\u{1F}\"}", "{\"a\u{1}\":1}", "{\"a\":“b”}",
    ])
    func `text that is not a JSON object, or has half a surrogate pair, is refused`(text: String) {
        #expect(JSONObject(text) == nil)
    }

    @Test func `every control character below space is refused raw and accepted escaped`() {
        for code in 0..<0x20 {
            let raw = String(UnicodeScalar(UInt8(code)))
            #expect(JSONObject("{\"a\":\"\(raw)\"}") == nil, "U+\(code)")
            #expect(JSONObject(String(format: #"{"a":"\u%04x"}"#, code)) != nil, "U+\(code)")
        }
    }

    @Test func `an object may nest 8 levels of objects and arrays, itself included`() {
        func nested(_ depth: Int, _ open: String, _ close: String) -> String {
            #"{"a":"# + String(repeating: open, count: depth - 1) + "1" + String(repeating: close, count: depth - 1)
                + "}"
        }
        for (open, close) in [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]")] {
            let levels = open.filter { $0 == "[" || $0 == "{" }.count
            for depth in 2...12 {
                let isAllowed = 1 + (depth - 1) * levels <= JSONObject.maximumDepth
                #expect((JSONObject(nested(depth, open, close)) != nil) == isAllowed, "\(depth) × \(open)")
            }
        }
        #expect(JSONObject.maximumDepth == 8)
        #expect(
            JSONObject(#"{"a":[[[[[[[]]]]]]],"b":[[[[[[[]]]]]]]}"#) != nil, "the depths of two members are not added")
        #expect(JSONObject(#"{"a":[[[[[[[[]]]]]]]]}"#) == nil, "an empty container counts as a level")
        #expect(JSONObject(nested(100_000, "[", "]")) == nil)
        #expect(JSONObject("{" + String(repeating: #""a":{"#, count: 100_000)) == nil)
    }

    @Test func `an object may have 16384 bytes of compact text, not counting space between tokens`() {
        func object(_ bytes: Int, filler: String = "x") -> String {
            #"{"a":""# + String(repeating: filler, count: (bytes - 8) / filler.utf8.count) + #""}"#
        }
        #expect(JSONObject.maximumBytes == 16_384)
        #expect(object(16_384).utf8.count == 16_384 && JSONObject(object(16_384)) != nil)
        #expect(JSONObject(object(16_385)) == nil)
        #expect(JSONObject(object(16_384, filler: "é")) != nil)
        #expect(JSONObject(object(16_386, filler: "é")) == nil, "the limit counts bytes, not characters")
        let space = String(repeating: " \n", count: 20_000)
        #expect(JSONObject(space + object(16_384) + space)?.text.utf8.count == 16_384)
    }

    @Test func `only an object without members is empty`() {
        #expect(JSONObject(" { } ")?.isEmpty == true)
        #expect(JSONObject(#"{"":0}"#)?.isEmpty == false)
    }

    /// A random object, compact and with space between its tokens.
    static func object(_ generator: inout SeededGenerator, depth: Int) -> (compact: String, spaced: String) {
        func space() -> String { ["", "", " ", "\n", "\t\r "].randomElement(using: &generator) ?? "" }
        func string() -> String {
            let parts = [
                "a", " ", "é", "😀", #"\""#, #"\\"#, #"\/"#, #"\n"#, #"\u00E9"#, #"\ud83d\ude00"#, "{", "]", ",", ":",
                "1",
            ]
            return "\""
                + (0..<Int.random(in: 0...5, using: &generator)).map { _ in parts.randomElement(using: &generator) ?? ""
                }.joined() + "\""
        }
        func scalar() -> String {
            let scalars = ["0", "-0", "1.00", "-12.5e+3", "1E-7", "9007199254740993", "true", "false", "null"]
            return Bool.random(using: &generator) ? string() : scalars.randomElement(using: &generator) ?? "0"
        }
        func list(_ open: String, _ close: String, depth: Int, hasNames: Bool) -> (String, String) {
            var (compact, spaced) = (open, open + space())
            for index in 0..<Int.random(in: 0...3, using: &generator) {
                if index > 0 { (compact, spaced) = (compact + ",", spaced + "," + space()) }
                if hasNames {
                    let name = string()
                    (compact, spaced) = (compact + name + ":", spaced + name + space() + ":" + space())
                }
                let value = value(depth: depth - 1)
                (compact, spaced) = (compact + value.0, spaced + value.1 + space())
            }
            return (compact + close, spaced + close)
        }
        func value(depth: Int) -> (String, String) {
            switch Int.random(in: 0..<(depth > 0 ? 4 : 2), using: &generator) {
            case 2: return list("{", "}", depth: depth, hasNames: true)
            case 3: return list("[", "]", depth: depth, hasNames: false)
            default:
                let text = scalar()
                return (text, text)
            }
        }
        let object = list("{", "}", depth: depth, hasNames: true)
        return (object.0, space() + object.1 + space())
    }

    @Test(arguments: [UInt64(51), 52]) func `only space between tokens is lost`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<Thoroughness.rounds(1_500) {
            let (compact, spaced) = Self.object(&generator, depth: 6)
            #expect(JSONObject(spaced)?.text == compact, "seed \(seed): \(spaced)")
            #expect(JSONObject(compact)?.text == compact, "seed \(seed)")
        }
    }

    @Test(arguments: [UInt64(61), 62])
    func `a mutated text is accepted if and only if Foundation accepts it`(seed: UInt64) throws {
        // Unlike RFC 8259, Foundation accepts a comma before a closing brace. It also converts numbers to doubles and refuses
        // those out of range; `JSONObject` keeps their digits.
        let disagreed = try Regex(#",\s*[}\]]|[0-9][eE][+-]?[0-9]{3}"#)
        let alphabet = Array(#"{}[]",:\u/0123456789eE+-.tfnabdD é"#.utf8) + [0x00, 0x0A, 0x1F, 0x7F, 0xC3, 0xF0]
        var generator = SeededGenerator(seed: seed)
        var accepted = 0
        for _ in 0..<Thoroughness.rounds(6_000) {
            var bytes = Array(Self.object(&generator, depth: 3).spaced.utf8)
            for _ in 0..<Int.random(in: 1...2, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                let byte = alphabet.randomElement(using: &generator) ?? 0
                switch Int.random(in: 0..<3, using: &generator) {
                case 0 where bytes.count > 1: bytes.remove(at: place)
                case 1: bytes.insert(byte, at: place)
                default: bytes[place] = byte
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            guard !text.contains(disagreed) else { continue }
            let object = JSONObject(text)
            let theirs = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
            #expect((object != nil) == (theirs != nil), "seed \(seed): \(text)")
            guard let object, let theirs else { continue }
            accepted += 1
            let again = (try? JSONSerialization.jsonObject(with: Data(object.text.utf8))) as? NSDictionary
            #expect(again == theirs as NSDictionary, "seed \(seed): \(text)")
            #expect(JSONObject(object.text) == object, "seed \(seed): \(text)")
        }
        #expect(accepted > (Thoroughness.isWhole ? 500 : 25))
    }

    @Test(arguments: [UInt64(71)]) func `any bytes are either parsed or rejected without a crash`(seed: UInt64) {
        let tokens = Array(#"{}[]",:\u0-.e"#.utf8)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<Thoroughness.rounds(4_000) {
            let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                Bool.random(using: &generator)
                    ? tokens.randomElement(using: &generator) ?? 0 : UInt8.random(in: 0...255, using: &generator)
            }
            let text = "{" + String(decoding: bytes, as: UTF8.self)
            guard let object = JSONObject(text) else { continue }
            #expect(JSONObject(object.text) == object, "seed \(seed): \(text)")
        }
    }
}
