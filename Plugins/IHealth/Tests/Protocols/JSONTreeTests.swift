import Foundation
import HubProcess
import JSON
import Platform
import Testing

@testable import ScaleProtocols

/// The parser of HSL's lines, compared with the standard and with Foundation's parser.
struct JSONTreeTests {
    private func read(_ text: String) -> JSONTree? { JSONTree(Array(text.utf8)) }

    @Test func `every kind of value is read as it is written`() {
        #expect(
            read(#" {"a":[1,-2.5,true,false,null,""],"b":{}} "#) == [
                "a": [1, .number("-2.5"), true, false, nil, ""], "b": [:],
            ])
        #expect(read("-0")?.whole == 0 && read("1e2")?.decimal == 100 && read("72.0")?.whole == 72)
        #expect(read("9223372036854775807")?.whole == .max && read("9223372036854775808")?.whole == nil)
        #expect(read("72.5")?.whole == nil && read("1e999")?.decimal == nil && read("1e999")?.whole == nil)
        #expect(read(#""\"\\\/\b\f\n\r\té\u00e9\ud83d\ude00""#)?.text == "\"\\/\u{8}\u{C}\n\r\té\u{E9}\u{1F600}")
        #expect(read(#"{"a":1,"a":2}"#)?["a"] == 2, "the last one of a name")
        let nested = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(read(nested) != nil && read("[" + nested + "]") == nil)
    }

    @Test(arguments: [
        "", " ", "{", "[1,]", "[1 2]", #"{"a"}"#, #"{"a":}"#, "{1:2}", #"{"a":1,}"#, "01", "-", "+1", ".5", "1.", "1e",
        "0x1",
        "tru", "nul", "NaN", "Infinity", "'a'", #""a"#, #""\x""#, #""\u12""#, #""\u12g4""#, #""\ud800""#,
        #""\ud800\u0041""#, #""\udc00""#, "\"\t\"", "\"\u{0}\"", "\u{0}", "1\u{0}", "{}{}", "1 2", "\u{FEFF}1", "/**/1",
    ])
    func `a text that is not JSON is refused`(text: String) { #expect(read(text) == nil) }

    @Test func `bytes that are no UTF-8 are refused`() {
        #expect(JSONTree([0x22, 0xFF, 0x22]) == nil)
        #expect(JSONTree([0x22, 0xC0, 0xAF, 0x22]) == nil)
        #expect(JSONTree([0x22, 0xED, 0xA0, 0x80, 0x22]) == nil)
    }

    @Test(arguments: Thoroughness.seeds(40))
    func `a written value is read back unchanged, and Foundation agrees about damaged texts`(
        seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            let value = Self.value(3, &random)
            var bytes = value.bytes
            #expect(JSONTree(bytes) == value)
            for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: bytes.indices, using: &random)
                let new = try #require(Array("{}[]\",:\\u0-1.e tn\n".utf8).randomElement(using: &random))
                if random.chance(30) { bytes.remove(at: place) } else { bytes[place] = new }
            }
            let other = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            let isRead = JSONTree(bytes).map(Self.isFinite) ?? false
            #expect(isRead == (other != nil), "\(String(decoding: bytes, as: UTF8.self))")
        }
    }

    @Test func `a number is the same with any number of digits`() throws {
        let short = try #require(read(#"{"v":72.5,"w":72}"#)).canonical
        for text in [#"{"v":72.50,"w":72}"#, #"{"w":72,"v":7.25e1}"#] { #expect(read(text)?.canonical == short) }
        #expect(read(#"{"v":72.51,"w":72}"#)?.canonical != short)
    }

    @Test func `the order of members, repeated names and null make no difference between lines`() throws {
        let one = try #require(read(#"{"b":[{"y":1,"x":null,"z":2}],"a":1,"a":2}"#))
        #expect(one.canonical == read(#"{"a":2,"b":[{"z":2,"y":1}]}"#)?.canonical)
        #expect(one.canonical.json == #"{"a":2,"b":[{"y":1,"z":2}]}"#)
    }

    /// Whether all numbers fit into a `Double`: Foundation refuses others.
    private static func isFinite(_ tree: JSONTree) -> Bool {
        switch tree {
        case .number: tree.decimal != nil
        case .list(let items): items.allSatisfy(isFinite)
        case .object(let members): members.allSatisfy { isFinite($0.value) }
        case .null, .truth, .text: true
        }
    }

    private static func value(_ depth: Int, _ random: inout SeededGenerator) -> JSONTree {
        switch Int.random(in: 0...(depth == 0 ? 4 : 6), using: &random) {
        case 0: .null
        case 1: .truth(random.chance(50))
        case 2: JSONTree(Int.random(in: -1_000_000...1_000_000, using: &random))
        case 3: JSONTree(Double(Int.random(in: -9999...9999, using: &random)) / 10 + 0.05)
        case 4: .text(String(["", "a\"\\\n", "é😀", "72.3", "\u{1}"].randomElement(using: &random) ?? ""))
        case 5: .list((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth - 1, &random) })
        default:
            .object(
                (0..<Int.random(in: 0...3, using: &random)).map { .init("m\($0)", value(depth - 1, &random)) })
        }
    }
}
