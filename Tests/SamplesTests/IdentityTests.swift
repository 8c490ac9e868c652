import Testing

@testable import Samples

/// Keys, cursors and the identity of records.
@Suite struct IdentityTests {
    @Test func `R8_3 every cursor vector parses to its expected result`() throws {
        let vectors = try ProtocolVectors.of(kind: "cursor")
        #expect(vectors.count >= 9)
        for vector in vectors {
            let text = try #require(vector.in)
            let cursor = Cursor(text)
            #expect((cursor == nil) == (vector.error == true), "\(vector)")
            #expect(cursor?.epoch == vector.epoch && cursor?.sequence == vector.sequence, "\(vector)")
            if let cursor { #expect(cursor.description == text) }
        }
    }

    @Test(arguments: [
        "", "-", "k7qz2m5a-1-2", "k7qz2m5a-+1", "k7qz2m5a-９", "k7qz2m5a-1\u{0}", "k7qz2m5a-\u{301}1", "k7qz2m8a-1",
        "k7qz2m0a-1",
        "k7qz2mäa-1", " k7qz2m5a-1", "k7qz2m5a-9223372036854775808", "k7qz2m5a-00", "k7qz2m5a-0x1",
    ])
    func `R8_3 a malformed cursor is rejected`(text: String) { #expect(Cursor(text) == nil) }

    @Test func `a cursor round-trips through its text up to the highest sequence`() {
        for sequence in [0, 1, 1_042, Int64.max] {
            let cursor = Cursor(epoch: "az27k7qz", sequence: sequence)
            #expect(Cursor(cursor.description) == cursor)
        }
    }

    @Test func `R6_20 a key has 1 to 64 bytes of UTF-8, not characters`() {
        #expect(RecordKey("") == nil)
        #expect(RecordKey("a")?.text == "a")
        #expect(RecordKey(String(repeating: "x", count: 64)) != nil)
        #expect(RecordKey(String(repeating: "x", count: 65)) == nil)
        #expect(RecordKey(String(repeating: "é", count: 32)) != nil)
        #expect(RecordKey(String(repeating: "é", count: 32) + "x") == nil)
        #expect(RecordKey(String(repeating: "😀", count: 16)) != nil)
        #expect(RecordKey(String(repeating: "😀", count: 17)) == nil)
    }

    @Test func `R6_20 a key with a control or bidirectional character is rejected`() throws {
        let bidirectional = [0x061C, 0x200E, 0x200F] + Array(0x202A...0x202E) + Array(0x2066...0x2069)
        for code in Array(0..<0x20) + Array(0x7F...0x9F) + [0x2028, 0x2029] + bidirectional {
            let control = String(try #require(UnicodeScalar(UInt32(code))))
            for text in [control, "a" + control, control + "é", "a" + control + "b"] {
                #expect(RecordKey(text) == nil, "U+\(String(code, radix: 16))")
            }
        }
        // Neighbouring code points and letters of right-to-left scripts are accepted.
        for text in [" ~", "\u{A0}", "\u{200D}", "\u{2010}", "\u{202F}", "\u{2065}", "\u{206A}", "מפתח", "مفتاح"] {
            #expect(RecordKey(text)?.text == text)
        }
    }

    @Test func `identities are compared by bytes, not by canonical equivalence`() throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        #expect(
            composed == decomposed, "Swift compares the two texts as equal, so identities must not use that comparison")
        let keys = [try #require(RecordKey(composed)), try #require(RecordKey(decomposed))]
        #expect(keys[0] != keys[1] && Set(keys).count == 2)
        let sources = [
            Source(plugin: "p", device: composed), Source(plugin: "p", device: decomposed), Source(plugin: "p"),
        ]
        #expect(Set(sources).count == 3)
        #expect(Set(sources.map { RecordIdentity.sample($0, keys[0]) }).count == 3)
        #expect(Source(plugin: "p", account: composed) != Source(plugin: "p", account: decomposed))
        #expect(Source(plugin: composed) != Source(plugin: decomposed))
        #expect(Source(plugin: "p", device: "d") != Source(plugin: "p", account: "d"))
        let objects = [#"{"a":"\#(composed)"}"#, #"{"a":"\#(decomposed)"}"#].map { JSONObject(trusted: $0) }
        #expect(objects[0] != objects[1])
    }

    @Test func `a record has the identity of the sample or day that it holds or retracts`() throws {
        let source = Source(plugin: "ihealth-hs3", device: "020000003001")
        let key = try #require(RecordKey("60de77850723"))
        let weight = try TypeID("weight")
        let date = try #require(LocalDate("2024-03-15"))
        let start = try Timestamp(parsing: "2024-03-15T07:30:05+01:00")
        let sample = Sample(source: source, key: key, type: weight, value: .quantity(72.3, unit: "kg"), start: start)
        #expect(Record.sample(sample).identity == .sample(source, key))
        #expect(sample.end == start && sample.provenance == .measured && sample.value.kind == .quantity)
        let day = DayValue(
            source: Source(plugin: "gap-filler"), person: "me", type: weight, series: "mean30", date: date, value: 72.3,
            unit: "kg", method: "mean")
        let identity = RecordIdentity.day(person: "me", type: weight, series: "mean30", date: date)
        #expect(Record.day(day).identity == identity)
        let retraction = Record.retraction(Retraction(identity: identity, source: day.source))
        #expect(retraction.identity == identity && retraction.source == day.source)
    }
}
