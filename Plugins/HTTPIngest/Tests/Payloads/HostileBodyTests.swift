import PhonePayloads
import Samples
import Testing

/// Bodies that no app sends, and the harm that they must not do.
@Suite struct HostileBodyTests {
    static let formats: [PhoneFormat] = [
        .healthAutoExport, .healthConnectWebhook, .healthConnectGateway(type: "Weight"), .openScale, .bleScaleSync,
        .plain, .openScaleHistory(user: "1"),
    ]

    @Test(arguments: [
        "", " ", "null", "7", "\"x\"", "[]", "{", "{\"data\":",
        "{\"data\":{\"metrics\":[{\"name\":\"step_count\",\"data\":[{\"qty\":NaN}]}]}}",
        "{\"data\":Infinity}", "{\"a\":1}x", "{\"data\":\"\\uD800\"}", "\u{FEFF}\u{FEFF}{}",
    ])
    func `A body that is not JSON, or JSON of another form, is refused as a whole`(body: String) {
        for format in [
            PhoneFormat.healthAutoExport, .healthConnectWebhook, .healthConnectGateway(type: "Weight"), .openScale,
        ] {
            #expect(throws: PhoneError.self, "\(format)") { _ = try Reading(body, format) }
        }
    }

    @Test func `Values nested a million deep are refused without a deep stack`() {
        let deep = String(repeating: "[", count: 1_000_000) + String(repeating: "]", count: 1_000_000)
        for format in Self.formats {
            #expect(throws: PhoneError.self) { _ = try Reading("{\"data\":\(deep)}", format) }
        }
    }

    @Test func `A repeated member refuses its item, and outside of items the whole body`() throws {
        #expect(throws: PhoneError.self) { _ = try Reading(#"{"data":{},"data":{}}"#, .healthAutoExport) }
        #expect(throws: PhoneError.self) {
            _ = try Reading(#"{"data":{"metrics":[],"metrics":[]}}"#, .healthAutoExport)
        }
        #expect(throws: PhoneError.self) { _ = try Reading(#"{"weight":80,"weight":81}"#, .plain) }
        #expect(throws: PhoneError.self) { _ = try Reading(#"{"event":"test","event":"clear"}"#, .openScale) }
        let twice = try Reading(
            #"{"data":{"metrics":[{"name":"weight","name":"height","units":"kg","data":[]}],"workouts":[{"name":"Run","n\u0061me":"Walk","start":"2026-02-10 06:00:00 +0100","end":"2026-02-10 07:00:00 +0100"}]}}"#,
            .healthAutoExport)
        #expect(twice.faults == ["/data/metrics/0 json", "/data/workouts/0 json"] && twice.samples == [])
    }

    @Test func `Numbers beyond doubles, times beyond the calendar and names beyond keys make no records`() throws {
        let reading = try Reading(
            metric: "heart_rate", "count/min",
            [
                #"{"date":"2026-02-10 06:00:00 +0100","qty":1e999}"#, #"{"date":"9999-12-31 23:59:59 -1200","qty":60}"#,
                #"{"date":"0001-01-01 00:00:00 +0100","qty":60}"#, #"{"date":"2026-02-10 06:00:60 +0100","qty":60}"#,
                #"{"date":"2026-02-10 24:00:00 +0100","qty":60}"#, #"{"date":"2026-02-10 13:00:00 pm +0100","qty":60}"#,
                #"{"date":"2026-02-10 06:00:00","qty":60}"#, #"{"date":"2026-02-10 06:00:00 +0100 ","qty":60}"#,
                #"{"date":"2026-02-10 06:00:00 +0100","qty":60,"source":"\#(String(repeating: "x", count: 5_000))"}"#,
            ])
        #expect(reading.samples == [] && reading.rejected.count == 9)
        let workout = try Reading(
            #"{"data":{"workouts":[{"id":"\#(String(repeating: "x", count: 100))","name":"Run","start":"2026-02-10 06:00:00 +0100","end":"2026-02-10 07:00:00 +0100"}]}}"#,
            .healthAutoExport)
        #expect(workout.samples == [] && workout.rejected.count == 1)
    }

    @Test func `More points than a body may have are refused before the first is read`() {
        let points = Array(repeating: "0", count: PhoneBody.maximumPoints + 1).joined(separator: ",")
        #expect(throws: PhoneError.self) {
            _ = try Reading(
                #"{"data":{"metrics":[{"name":"steps","units":"count","data":[\#(points)]}]}}"#, .healthAutoExport)
        }
    }
}
