import HubProcess
import HubWire
import Platform
import Samples
import Testing

/// Properties that hold for every record, tested with seeded random ones.
///
/// A failure shows the seed.
@Suite struct RecordLawTests {
    private static let plugin = "kitchen-script"

    @Test(arguments: Thoroughness.seeds(20))
    func `a source's record round-trips`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let record = random.record(plugin: RecordLawTests.plugin)
            let bytes = encoded(record)
            let back = try decode(string(bytes), plugin: RecordLawTests.plugin).get()
            #expect(back == record, "\(string(bytes))")
            #expect(encoded(back) == bytes)
        }
    }

    @Test(arguments: Thoroughness.seeds(20))
    func `a stored record round-trips`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let record = random.record(plugin: RecordLawTests.plugin)
            let stored = random.stored(record)
            let bytes = encoded(stored)
            let back = try decodeStored(bytes)
            #expect(back == stored, "\(string(bytes))")
            #expect(encoded(back) == bytes)
        }
    }

    @Test(arguments: Thoroughness.seeds(10))
    func `the order of members and white space do not matter`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            let record = random.record(plugin: RecordLawTests.plugin)
            let text = string(encoded(record))
            let shuffled = membersOf(text).shuffled(using: &random).joined(separator: " ,\n\t")
            #expect(try decode("\r\n { \(shuffled) } \n", plugin: RecordLawTests.plugin).get() == record, "\(text)")
        }
    }

    @Test func `a batch gives the same records as reading them one by one`() throws {
        var random = SeededGenerator(seed: 7)
        let records = (0..<200).map { _ in random.record(plugin: RecordLawTests.plugin) }
        let texts = records.map { string(encoded($0)) }
        let message = try samples(#"{"batch":9,"records":[\#(texts.joined(separator: ","))],"later":{"a":[]}}"#)
        #expect(message.batch == 9)
        #expect(!message.isBackfill)
        #expect(try message.records.map { try $0.get() } == records)
    }

    @Test(arguments: Thoroughness.seeds(10))
    func `a record is not affected by the previous one, however similar their texts are`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let metadata = [
            #"{"note":"a"}"#, #"{"note":"a" }"#, #"{"note":"a"}x"#, #"{"note":"a","more":{"b":[1,2]}}"#,
            #"{"note":"a"}}"#,
            #"{"note":"\ud800"}"#, #""{""#, #"{"note":"a"#, "[]", "7", "77",
        ]
        let sources = [#"{"device":"a"}"#, #"{"device":"a","account":"b"}"#, #"{"device":"a"},"source":{}"#, "null"]
        let types = [#""weight""#, #""weight" "#, #""weightx""#, #""weight"#, #""we\u0069ght""#]
        var decoder = RecordDecoder(plugin: RecordLawTests.plugin)
        var refused = 0
        for _ in 0..<300 {
            let pieces = (metadata.randomElement(using: &random)!, sources.randomElement(using: &random)!)
            let text =
                #"{"type":\#(types.randomElement(using: &random)!),"value":80,"unit":"kg","start":"2026-01-01T00:00:00Z","#
                + #""key":"k","metadata":\#(pieces.0),"source":\#(pieces.1)}"#
            let bytes = Array(text.utf8)
            let again = Result { try bytes.withUnsafeBytes { try decoder.record($0) } }
            var fresh = RecordDecoder(plugin: RecordLawTests.plugin)
            let alone = Result { try bytes.withUnsafeBytes { try fresh.record($0) } }
            #expect("\(again)" == "\(alone)", "\(text)")
            if case .success(.success) = alone { continue }
            refused += 1
        }
        #expect(refused > 50 && refused < 290)
    }

    /// The members of a compact object as texts.
    private func membersOf(_ object: String) -> [String] {
        var members: [String] = []
        var member: [UInt8] = []
        var depth = 0
        var isInString = false
        var isEscaped = false
        for byte in object.utf8.dropFirst().dropLast() {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
            } else {
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                case UInt8(ascii: ",") where depth == 0:
                    members.append(string(member))
                    member = []
                    continue
                default: break
                }
            }
            member.append(byte)
        }
        return members + [string(member)]
    }
}
