import HubWire
import JSON
import Samples
import Testing

/// The rejection codes of malformed records, and the limits of valid ones.
@Suite struct RecordFormTests {
    @Test(arguments: [
        (#"{"batch":1,"records":[NaN]}"#, 22), (#"{"batch":1,"records":[{"a":-Infinity}]}"#, 28),
        (#"{"batch":1,"records":[{"a":1,}]}"#, 29), (#"{"batch":1,"records":[{"a":1}"#, 29), ("", 0), ("[]", 0),
        (#"{"batch":1,"records":[]} x"#, 25), (#"{"a":"\x"}"#, 7), (#"{"a":"\u12g4"}"#, 10), (#"{"a":01}"#, 6),
        ("{\"a\":\"\u{1}\"}", 6), (#"{"a":tru}"#, 5), (#"{"a" 1}"#, 5), (#"{a:1}"#, 1), (#"{"a":"b"#, 7),
        ("{\"a\":\"\t\"}", 6),
    ])
    func `a message that is not JSON is refused with the byte offset`(text: String, offset: Int) throws {  // R3.3
        let error = #expect(throws: WireError.self) { try samples(text) }
        #expect(error?.code == .json)
        #expect(error?.reason.contains("at byte \(offset):") == true, "\(error?.reason ?? "")")
    }

    @Test(arguments: [
        ([0xEF, 0xBB, 0xBF, 0x7B, 0x7D], 0), ([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D], 2),
        ([0x22, 0xC0, 0x80, 0x22], 1), ([0x22, 0xED, 0xA0, 0x80, 0x22], 1), ([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], 1),
        ([0x22, 0xE2, 0x82], 1), ([0x22, 0xC3, 0x22], 1), ([0x22, 0x80, 0x22], 1),
        ([0x22, 0xF8, 0x88, 0x80, 0x80, 0x80, 0x22], 1),
    ])
    func `bytes that are not UTF-8 are refused completely`(bytes: [UInt8], offset: Int) {  // R3.3
        var decoder = RecordDecoder(plugin: "kitchen-script")
        let error = #expect(throws: JSONSyntaxError.self) {
            try bytes.withUnsafeBytes { bytes throws(JSONSyntaxError) in try decoder.record(bytes) }
        }
        #expect(error?.offset == offset)
    }

    @Test(arguments: [
        ("", true), (#","observedOn":"2024-03-14","age":1"#, true), (#","observedOn":"2024-02-15","age":29"#, true),
        (#","observedOn":"2024-03-14""#, false), (#","age":1"#, false), (#","age":0"#, false),
        (#","observedOn":"2024-03-15","age":0"#, false), (#","observedOn":"2024-03-16","age":-1"#, false),
        (#","observedOn":"2024-03-14","age":2"#, false),
    ])
    func `R6.34 a day is measured, or names the day and the number of days it was carried from`(
        members: String, isTaken: Bool
    )
        throws
    {
        let day = #"{"kind":"day","type":"weight","value":72.3,"unit":"kg","series":"mean30","date":"2024-03-15""#
        let rejection = try rejection(day + #","method":"carried","basis":[12],"person":"me""# + members + "}")
        #expect(rejection?.code == (isTaken ? nil : .time))
    }

    @Test func `one malformed record does not affect the others`() throws {  // R5.3, R6.17
        let bad = [weight(#""key":"twice""#), "17", "null", weight(#""a":"\ud800""#), weight(#""a":"\udc00\ud800""#)]
        let message = try samples(
            #"{"batch":1,"records":[\#(([weight()] + bad + [weight()]).joined(separator: ","))]}"#)
        let codes = message.records.map { $0.rejection?.code.rawValue ?? "stored" }
        #expect(codes == ["stored", "json", "json", "json", "json", "json", "stored"])
    }

    @Test func `too deep nesting costs only its own record`() throws {  // R6.17
        let deep = String(repeating: "[", count: 30_000) + String(repeating: "]", count: 30_000)
        let message = try samples(#"{"batch":1,"records":[\#(weight("\"a\":\(deep)")),\#(weight())],"a":\#(deep)}"#)
        #expect(message.records[0].rejection?.code == .json && message.records[1].rejection == nil)
    }

    @Test(arguments: [63, 64, 65, 127, 128, 129, 200])
    func `brackets are matched at every depth`(depth: Int) throws {
        func nested(_ closing: String) -> String {
            String(repeating: #"{"a":["#, count: depth / 2) + "1" + String(repeating: closing, count: depth / 2)
        }
        #expect(try samples(#"{"batch":1,"records":[1],"x":\#(nested("]}"))}"#).batch == 1)
        #expect(throws: WireError.self) { try samples(#"{"batch":1,"records":[1],"x":\#(nested("}]"))}"#) }
    }

    @Test func `a record may have at most 65,536 bytes`() throws {  // R6.19
        func record(_ size: Int) -> String {
            let empty = weight(#""value2":[]"#)
            return weight(#""value2":[\#(String(repeating: " ", count: size - empty.utf8.count))]"#)
        }
        #expect(try rejection(record(65_536)) == nil)
        #expect(try rejection(record(65_537))?.code == .size)
    }

    @Test func `metadata may have at most 16,384 bytes without white space`() throws {  // R6.19
        func record(_ size: Int) -> String {
            weight(#""metadata": { "a" : "\#(String(repeating: "y", count: size - 8))" }"#)
        }
        #expect(try rejection(record(16_384)) == nil)
        #expect(try rejection(record(16_385))?.code == .metadata)
    }

    @Test(arguments: ["metadata", "anything", "extra"])
    func `objects may nest at most eight deep`(member: String) throws {  // R6.19
        // An unknown member is nested in the extra object, which counts as one level.
        let levels = member == "anything" ? 7 : 8
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
        }
        #expect(try rejection(weight("\"\(member)\":\(nested(levels))")) == nil)
        #expect(try rejection(weight("\"\(member)\":\(nested(levels + 1))"))?.code == .metadata)
    }

    @Test(arguments: [
        (#""extra":[]"#, "metadata"), (#""extra":{"a":1},"a":2"#, "json"), (#""b":1,"\u0062":2"#, "json"),
        (#""\u006bey":"again""#, "json"), (#""extra":{"a":1,"a":2}"#, "json"), (#""zone":5"#, "time"),
        (#""zone":null"#, "time"),
        (#""zone":"""#, "time"), (#""subject":{}"#, "person"), (#""subject":{"slot":1,"name":"a"}"#, "person"),
        (#""subject":{"slot":1.5}"#, "person"), (#""subject":"me""#, "person"), (#""sourceVersion":1.5"#, "key"),
        (#""sourceVersion":99999999999999999999"#, "key"),
        (#""source":{"plugin":"kitchen-script","model":"x"}"#, "source"),
        (#""source":{"device":""}"#, "source"), (#""source":{"device":"a","device":"b"}"#, "json"),
        (#""origin":{}"#, "source"),
        (#""origin":[{"system":"a","hub":"b"}]"#, "source"),
        (#""provenance":{"kind":"derived","formula":"f","version":"1"}"#, "provenance"),
        (#""provenance":{"kind":"filled","method":"m","basis":[0]}"#, "provenance"), (#""raw":3"#, "value"),
        (#""provenance":{"kind":"measured","basis":[]}"#, "provenance"), (#""group":7"#, "group"),
        (#""group":"a\u0000""#, "group"),
        (#""kind":5"#, "kind"), (#""kind":null"#, "kind"), (#""end":"2024-03-15T07:30:04.999999+01:00""#, "time"),
        (#""payload":-1"#, "payload"), (#""payload":"0""#, "payload"),
    ])
    func `a member with a wrong form is refused with its code`(member: String, code: String) throws {
        let rejection = try rejection(weight(member))
        #expect(rejection?.code.rawValue == code)
    }

    @Test(arguments: [
        (#"{"kind":"correlation","type":"bloodPressure","value":1,"start":"2024-03-15T07:30:05Z","key":"k"}"#, "value"),
        (
            #"{"type":"sleepAnalysis","value":"asleepCore","unit":"kg","start":"2024-03-15T07:30:05Z","key":"k"}"#,
            "unit"
        ),
        (#"{"type":"sleepAnalysis","start":"2024-03-15T07:30:05Z","key":"k"}"#, "value"),
        (#"{"type":"workout","value":"running","raw":38,"start":"2024-03-15T07:30:05Z","key":"k"}"#, "value"),
        (#"{"type":"workout","raw":99999,"start":"2024-03-15T07:30:05Z","key":"k"}"#, "value"),
        (#"{"type":"we ight","value":1,"unit":"kg","start":"2024-03-15T07:30:05Z","key":"k"}"#, "type"),
        (#"{"type":7,"value":1,"unit":"kg","start":"2024-03-15T07:30:05Z","key":"k"}"#, "type"),
        (#"{"kind":"retraction","key":"k","person":"me"}"#, "reserved"),
        (#"{"kind":"retraction","key":"k","by":"person"}"#, "reserved"),
        (#"{"kind":"retraction"}"#, "key"), (#"{"kind":"retraction","key":"k","note":"lost?"}"#, "json"),
        (#"{"kind":"retraction","type":"weight","series":"s","person":"me"}"#, "time"), ("{}", "type"),
        (
            #"{"kind":"day","type":"sleepAnalysis","value":1,"unit":"kg","series":"s","date":"2024-03-15","method":"m","basis":[],"person":"me"}"#,
            "kind"
        ),
        (
            #"{"kind":"day","type":"weight","value":1,"unit":"kg","series":"s","date":"2024-03-15","method":"m","basis":[]}"#,
            "person"
        ),
        (
            #"{"kind":"day","type":"weight","value":1,"unit":"kg","series":"s","date":"2024-03-15","method":"m","person":"me"}"#,
            "provenance"
        ),
        (
            #"{"kind":"day","type":"weight","value":1,"unit":"kg","series":"s","date":"2024-03-15","method":"m","basis":[],"person":"me","age":-1}"#,
            "time"
        ),
    ])
    func `each kind of record has its own rules`(text: String, code: String) throws {
        #expect(try rejection(text)?.code.rawValue == code)
    }

    @Test func `members of other kinds are extra members, in the order of their appearance`() throws {  // R6.18
        let text = weight(#""method":"bia","z":1,"extra":{"b" : 2},"age" : 40"#)
        guard case .sample(let sample) = try decode(text).get() else { return }
        #expect(sample.extra?.text == #"{"method":"bia","z":1,"b":2,"age":40}"#)
    }

    @Test func `an unknown HealthKit identifier keeps its value`() throws {  // R6.15
        let text =
            #"{"type":"HKQuantityTypeIdentifierNew","value":1,"unit":"kg","start":"2024-03-15T07:30:05Z","key":"k"}"#
        #expect(try RecordValidation().canonical(of: try decode(text).get()) == nil)
        let other =
            #"{"type":"HKQuantityTypeIdentifierNew","kind":"other","value":"1 kg","start":"2024-03-15T07:30:05Z","key":"k"}"#
        guard case .sample(let sample) = try decode(other).get() else { return }
        #expect(sample.value == .other("1 kg"))
    }

    @Test func `reasons never contain a value`() throws {  // R12.1
        for text in [
            weight(#""zone":4711"#),
            #"{"type":"weight","value":"4711","unit":"kg","start":"2024-03-15T07:30:05Z","key":"k"}"#,
            #"{"type":"sleepAnalysis","value":"4711","start":"2024-03-15T07:30:05Z","key":"k"}"#,
            weight(#""metadata":"4711""#),
        ] {
            let reason = try #require(try rejection(text)).reason
            #expect(!reason.contains("4711"), "\(reason)")
        }
    }

    @Test func `payloads are identified by the record's index`() throws {
        let message = try samples(
            #"{"backfill":true,"batch":1,"records":[\#(weight()),\#(weight(#""payload":1"#)),\#(weight(#""payload":2"#))]}"#,
            payloadFrames: 2)
        #expect(message.payloads == [1: 1])
        #expect(message.isBackfill)
        #expect(message.records[2].rejection?.code == .payload, "a missing payload frame must not be accepted")
    }

    @Test(arguments: [
        (#"{"records":[1]}"#, "SAMPLES.batch"), (#"{"batch":9007199254740992,"records":[1]}"#, "SAMPLES.batch"),
        (#"{"batch":1,"records":[]}"#, "SAMPLES.records"), (#"{"batch":1,"records":null}"#, "SAMPLES.records"),
        (#"{"batch":1,"records":[1],"backfill":1}"#, "SAMPLES.backfill"),
    ])
    func `a member of the message is refused by name`(text: String, member: String) {  // R3.4
        let error = #expect(throws: WireError.self) { try samples(text) }
        #expect(error?.code == .field)
        #expect(error?.reason.hasPrefix(member) == true)
    }

    @Test func `a batch of more than 1,000 records is beyond the limit`() throws {  // R4.14
        func batch(_ count: Int) -> String {
            #"{"records":[\#(Array(repeating: "1", count: count).joined(separator: ","))],"batch":5}"#
        }
        #expect(try samples(batch(1_000)).records.count == 1_000)
        let error = #expect(throws: WireError.self) { try samples(batch(1_001)) }
        #expect(error?.code == .limit)
        #expect(error?.closed == true)
        #expect(error?.ref == 5)
    }

    @Test func `outside records the last of repeated members counts`() throws {  // R3.9
        let message = try samples(#"{"batch":1,"records":[1,2],"batch":2,"records":[3]}"#)
        #expect(message.batch == 2)
        #expect(message.records.count == 1)
    }
}
