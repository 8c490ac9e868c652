import PhonePayloads
import Samples
import Testing

/// Limits: a bad item among good ones costs only itself, and bodies of bad items alone cost little.
@Suite(.timeLimit(.minutes(1))) struct BoundsTests {
    private static let long = String(repeating: "x", count: 70_000)

    @Test
    func `An hour that ends beyond the calendar is rejected with its place, and the other points are stored`() throws {
        let reading = try Reading(
            metric: "heart_rate", "count/min",
            [
                #"{"date":"2026-02-10 06:00:00 +0000","qty":61}"#, #"{"date":"9999-12-30 23:59:30 +0000","qty":60}"#,
                #"{"date":"2026-02-10 07:00:00 +0000","qty":62}"#,
            ], grouping: "Hours")
        #expect(reading.faults == ["/data/metrics/0/data/1 time"] && reading.samples.count == 2)
        #expect(reading.verdicts() == [])
    }

    @Test func `The report about an item is short, however long the item is`() throws {
        let mark = String(repeating: "\u{301}", count: 30_000)
        let name = String(repeating: "n", count: 1_000)
        let reading = try Reading(
            #"{"timestamp":"2026-02-10T10:00:00Z","\#(name)":["\#(Self.long)\#(Self.long)"],"steps":[{"count":1}]}"#,
            .healthConnectWebhook)
        let plain = try Reading(#"{"type":"e\#(mark)","value":1}"#, .plain)
        let rejected = reading.rejected + plain.rejected
        #expect(rejected.count == 3)
        #expect(rejected.allSatisfy { "\($0.place)".utf8.count <= 1_000 && $0.reason.utf8.count <= 1_000 })
        #expect(reading.ignored.allSatisfy { "\($0.place)".utf8.count <= 1_000 })
        let longer = #"{"timestamp":"2026-02-10T10:00:00Z","\#(name)\#(name)" :[1]}"#
        #expect(#expect(throws: PhoneError.self) { try Reading(longer, .healthConnectWebhook) }?.code == .size)
    }

    @Test
    func `A text that is too long for a record is rejected with its place, and the other items are stored`() throws {
        let start = #""start":"2026-02-10 06:00:00 +0100""#
        let entries = try Reading(
            #"{"data":{"symptoms":[{"name":"\#(Self.long)",\#(start)},{"name":"Husten",\#(start)}],"medications":[{"displayText":"\#(Self.long)",\#(start)},{"displayText":"Ibuprofen",\#(start)}],"cycleTracking":[{"name":"\#(Self.long)",\#(start)}],"ecg":[{"classification":"\#(Self.long)",\#(start)}]}}"#,
            .healthAutoExport)
        #expect(
            entries.faults.sorted() == [
                "/data/cycleTracking/0 size", "/data/ecg/0 size", "/data/medications/0 size", "/data/symptoms/0 size",
            ])
        #expect(entries.samples.count == 2 && entries.verdicts() == [])
        let scale = try Reading(#"{"weight":80,"user_name":"\#(Self.long)"}"#, .bleScaleSync)
        #expect(scale.faults == [" size"] && scale.samples == [])
    }

    @Test func `An openScale value in an unknown unit is rejected, and the rest of its measurement is stored`() throws {
        let reading = try Reading(
            #"{"event":"insert","userId":1,"date":"2026-02-10T06:31:02+01:00","values":[{"key":"weight","value":80,"unit":"kg"},{"key":"impedance","value":500,"unit":"\#(Self.long)"}]}"#,
            .openScale)
        #expect(reading.faults == ["/values/1 unit"] && reading.samples.map(\.type) == [.weight])
        // An unreadable value does not retract the earlier one.
        #expect(
            reading.steps == [.has(user: "1", time: "20260210T053102Z", types: ["weight", "x.openscale.impedance"])])
    }

    @Test func `A note that is too long for a record is reported, and the values are stored`() throws {
        let reading = try Reading(
            #"{"event":"insert","userId":1,"id":7,"date":"2026-02-10T06:31:02+01:00","values":[{"key":"weight","value":80,"unit":"kg"},{"key":"comment","text":"\#(Self.long)"}]}"#,
            .openScale)
        #expect(reading.faults == [" size"] && reading.samples.map(\.type) == [.weight])
        #expect(reading.verdicts() == [])
    }

    @Test func `An unreadable row retracts nothing`() throws {
        func list(_ rows: String) throws -> Reading {
            try Reading(
                #"{"fields":["date","weight"],"units":{"weight":"kg"},"rows":[\#(rows)]}"#,
                .openScaleHistory(user: "1"))
        }
        let rows = "[1770701462000,80.4],[1770787800000,80.1]"
        #expect(try list(rows).steps.contains { if case .only = $0 { true } else { false } })
        for bad in ["[null,80.2]", "[\"x\",80.2]", "7", "[]", "[99999999999999999,80]"] {
            let reading = try list("\(rows),\(bad)")
            #expect(!reading.steps.contains { if case .only = $0 { true } else { false } }, "\(bad)")
            #expect(reading.samples.count == 2 && reading.faults == ["/rows/2 time"])
            #expect(reading.ignored.count == 1)
        }
    }

    // MARK: - Plain records of one instant

    @Test(arguments: [false, true])
    func `Records of one type and instant with different values are all kept, in any order`(far: Bool) throws {
        let filler = far ? (0..<2_500).map { #"{"heartRate":\#(40 + $0 % 100),"key":"k\#($0)"}"# } : []
        func keys(_ amounts: [String]) throws -> [String: String] {
            var records = amounts.map { #"{"dietaryWater":\#($0),"unit":"mL","start":"2026-02-10T06:31:02Z"}"# }
            records.insert(contentsOf: filler, at: 1)
            let reading = try Reading(#"{"records":[\#(records.joined(separator: ","))]}"#, .plain)
            #expect(reading.faults == [] && reading.verdicts() == [])
            return Dictionary(
                uniqueKeysWithValues: reading.samples.filter { $0.type == .dietaryWater }
                    .map { ("\($0.value)", $0.key.text) })
        }
        let first = try keys(["250", "330"])
        #expect(Set(first.values) == ["20260210T063102Z dietaryWater", "20260210T063102Z dietaryWater 2"])
        // The same records in another order have the same keys.
        #expect(try keys(["330", "250"]) == first)
        #expect(try keys(["250.0", "330"]) == first)
    }

    @Test func `A date that occurs twice in a list makes two records, and an equal line counts once`() throws {
        let time = "2026-02-10T06:31:02Z"
        let reading = try Reading(
            #"{"type":"heartRate","dates":["\#(time)","\#(time)","\#(time)"],"values":[60,71,60]}"#, .plain)
        #expect(reading.keys == ["20260210T063102Z heartRate", "20260210T063102Z heartRate 2"])
        #expect(reading.ignored.count == 1 && reading.received == 3)
    }

    @Test func `A record from a broker without a time is rejected with the reason`() throws {
        let body = #"{"records":[{"weight":80},{"weight":81,"start":"2026-02-10T06:31:02Z"}]}"#
        let reading = try Reading(body, .plain, Reading.context { $0.isFresh = false })
        #expect(reading.faults == ["/records/0 time"] && reading.keys == ["20260210T063102Z weight"])
        #expect(reading.rejected[0].reason.contains("broker"))
    }

    // MARK: - Bodies of bad items alone

    private static let million = Array(repeating: "1", count: PhoneBody.maximumPoints + 1).joined(separator: ",")

    @Test(
        arguments: [
            (.healthConnectGateway(type: "Weight"), #"{"data":["#, "]}"),
            (.healthConnectGateway(type: "HeartRate"), #"{"data":{"samples":["#, "]}}"),
            (.openScale, #"{"event":"insert","measurements":["#, "]}"),
            (.openScale, #"{"event":"insert","userId":1,"date":"2026-02-10T06:31:02Z","values":["#, "]}"),
            (.openScaleHistory(user: "1"), #"{"fields":["date"],"rows":["#, "]}"),
            (.healthConnectWebhook, #"{"timestamp":"2026-02-10T10:00:00Z","new":["#, "]}"),
            (.healthAutoExport, #"{"data":{"unknown":["#, "]}}"), (.healthAutoExport, #"{"data":{"symptoms":["#, "]}}"),
            (.plain, #"{"records":["#, "]}"), (.bleScaleSync, #"{"weight":80,"x":["#, "]}"),
        ] as [(PhoneFormat, String, String)])
    func `A body with more than a million items is refused as a whole, in any list`(
        format: PhoneFormat, before: String, after: String
    ) {
        let error = #expect(throws: PhoneError.self) { _ = try Reading(before + Self.million + after, format) }
        #expect(error?.code == .size)
    }

    @Test
    func `A body with more than a million lines is refused as a whole, and a long line is rejected with its place`()
        throws
    {
        let lines = String(repeating: "1\n", count: PhoneBody.maximumPoints)
        let error = #expect(throws: PhoneError.self) { _ = try Reading(lines, .bleScaleLines) }
        #expect(error?.code == .size)
        let line = #"{"timestamp":"2026-02-10T06:31:02Z","weight":80}"#
        let reading = try Reading("\(line)\n{\"x\":\"\(Self.long)\"}\n", .bleScaleLines)
        #expect(reading.faults == ["/1 size"] && reading.samples.count == 1)
    }

    @Test func `Only separators count for the limits, and nothing within the limits is refused`() throws {
        let text = String(repeating: #",],[\",\\"#, count: 300_000)
        let members = (0..<9_999).map { "\"m\($0)\":[]" }.joined(separator: ",")
        let reading = try Reading(#"{"data":{"metrics":[],"x":"\#(text)","y":{\#(members)}}}"#, .healthAutoExport)
        #expect(reading.rejected.count == 2)
    }

    @Test(
        arguments: [
            (.healthConnectGateway(type: "Weight"), #"{"data":["#, "]}"),
            (.openScale, #"{"event":"insert","measurements":["#, "]}"),
            (.openScaleHistory(user: "1"), #"{"fields":["date"],"rows":["#, "]}"),
            (.healthConnectWebhook, #"{"timestamp":"2026-02-10T10:00:00Z","steps":["#, "]}"),
            (.plain, #"{"records":["#, "]}"),
        ] as [(PhoneFormat, String, String)])
    func `Rejections are returned in pieces, as records are`(format: PhoneFormat, before: String, after: String) throws
    {
        let reading = try Reading(before + Array(repeating: "1", count: 5_000).joined(separator: ",") + after, format)
        #expect(reading.rejected.count == 5_000 && reading.pieces >= 5)
    }

    @Test
    func `A repeated name among thousands is found in one pass, and more than ten thousand names are refused`() throws {
        let many = (0..<9_990).map { "\"member\($0)\":0" }.joined(separator: ",")
        let points = Array(repeating: "{\(many)}", count: 20).joined(separator: ",")
        let twice = "{\(many),\"n\\u0061me\":0,\"name\":1}"
        let reading = try Reading(
            #"{"data":{"metrics":[{"name":"weight","units":"kg","data":[\#(points),\#(twice)]}]}}"#, .healthAutoExport)
        #expect(reading.rejected.count == 21 && reading.rejected.last?.code == "json")
        let more = (0...10_000).map { "\"member\($0)\":0" }.joined(separator: ",")
        let error = #expect(throws: PhoneError.self) { _ = try Reading("{\(more)}", .plain) }
        #expect(error?.code == .size)
    }
}
