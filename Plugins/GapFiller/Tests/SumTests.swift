import Foundation
import HubProcess
import Samples
import Testing

/// Sums of several sources: `hub days` and `hub stats --by day` must agree, with a real hub and a gap-filler.
@Suite(.serialized, .timeLimit(.minutes(3))) struct SumTests {
    private struct Steps {
        var key: String
        var start, end: String
        var value: Double
        var zone: String?

        var json: String {
            let zone = zone.map { ",\"zone\":\"\($0)\"" } ?? ""
            return
                "{\"type\":\"stepCount\",\"value\":\(value),\"unit\":\"count\",\"start\":\"\(start)\",\"end\":\"\(end)\",\"key\":\"\(key)\"\(zone)}"
        }
    }

    /// Daylight saving time begins in the night to the 31st, with a walk over midnight before it.
    private let phone = [
        Steps(key: "a", start: "2024-03-30T08:00:00+01:00", end: "2024-03-30T09:00:00+01:00", value: 1_000),
        Steps(key: "b", start: "2024-03-30T23:30:00+01:00", end: "2024-03-31T00:30:00+01:00", value: 601),
        Steps(key: "c", start: "2024-03-31T23:00:00+02:00", end: "2024-04-01T01:00:00+02:00", value: 333.5),
    ]
    private let watch = [
        Steps(key: "a", start: "2024-03-30T08:30:00+01:00", end: "2024-03-30T09:10:00+01:00", value: 700),
        Steps(key: "b", start: "2024-03-31T01:50:00+01:00", end: "2024-03-31T03:10:00+02:00", value: 90),
        Steps(
            key: "c", start: "2024-04-01T00:30:00+02:00", end: "2024-04-01T00:45:00+02:00", value: 77,
            zone: "Europe/Berlin"),
    ]

    private let conf = "clock = \"2024-04-02T10:00:00Z@1\""

    /// The days that the gap-filler has stored, by date.
    private func days(_ scene: Scene) throws -> [String: Double] {
        var days: [String: Double] = [:]
        for stored in try scene.records([.day]).records {
            if case .day(let day) = stored.record, day.series == "sum" { days[day.date.text] = day.value }
        }
        return days
    }

    /// The sums that the hub computes now, by date.
    private func statistics(_ scene: Scene) async throws -> [String: Double] {
        struct Answer: Decodable {
            struct Interval: Decodable {
                var from: String
                var sum: Double?
            }
            var intervals: [Interval]
        }
        let answer = try await scene.host.json("stats", "stepCount", "--by", "day", as: Answer.self)
        let sums = answer.intervals.compactMap { interval in
            interval.sum.map { (String(interval.from.prefix(10)), $0) }
        }
        return Dictionary(uniqueKeysWithValues: sums)
    }

    /// Waits until the days equal the hub's sums, which must equal the expected ones.
    private func agree(_ scene: Scene, _ expected: [String: Double]) async throws {
        #expect(try await statistics(scene) == expected)
        let end = ContinuousClock.now + .seconds(30)
        while try days(scene) != expected, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(20)) }
        let found = try days(scene)
        #expect(found == expected, "\(scene.fillerLog.suffix(5))")
    }

    @Test func `R8.110 R8.111 hub days and hub stats by day agree after every change`() async throws {
        let scene = try await Scene(hub: conf, plugins: "[priority.steps]\nsources = [\"watch\", \"phone\"]\n")
        try scene.give(phone.map(\.json), from: "phone")
        try await scene.startFiller("types = [\"stepCount\"]")
        // The whole 1000, and half of 601 on each side of midnight.
        try await agree(scene, ["2024-03-30": 1_300.5, "2024-03-31": 467.25, "2024-04-01": 166.75])
        // A later source with precedence: half of the phone's hour is replaced by the watch's.
        try scene.give(watch.map(\.json), from: "watch")
        try await agree(
            scene,
            [
                "2024-03-30": 1_500.5, "2024-03-31": 557.25,
                "2024-04-01": 202.0625,
            ])
        var late = phone[0]
        late.value = 1_200
        try scene.give([late.json], from: "phone")
        try scene.give(["{\"kind\":\"retraction\",\"key\":\"c\"}"], from: "watch")
        try await agree(
            scene,
            [
                "2024-03-30": 1_600.5, "2024-03-31": 557.25, "2024-04-01": 166.75,
            ])
        try await scene.apply { $0.replacing("\"watch\", \"phone\"", with: "\"phone\", \"watch\"") }
        try await agree(
            scene,
            [
                // The last ten of the watch's 40 minutes do not overlap the phone's.
                "2024-03-30": 1_675.5, "2024-03-31": 557.25, "2024-04-01": 166.75,
            ])
        // Changes while the gap-filler is away.
        try await scene.stopFiller()
        try await scene.apply { $0.replacing("[priority.steps]\nsources = [\"phone\", \"watch\"]\n", with: "") }
        try scene.give(["{\"kind\":\"retraction\",\"key\":\"b\"}"], from: "phone")
        try await scene.startFiller()
        try await agree(scene, ["2024-03-30": 1_375, "2024-03-31": 256.75, "2024-04-01": 166.75])
    }

    @Test
    func `R8.191 an event from two sources counts once in days and statistics, even after a retraction`() async throws {
        let scene = try await Scene(hub: conf)
        let night = "2024-03-30T23:50:00+01:00"
        // Pushed without an end; then the same events from a source with another clock.
        try scene.give(
            [
                "{\"type\":\"stepCount\",\"value\":600,\"unit\":\"count\",\"start\":\"\(night)\",\"key\":\"a\"}",
                "{\"type\":\"weight\",\"value\":80,\"unit\":\"kg\",\"start\":\"2024-03-31T01:00:00+01:00\",\"key\":\"w\"}",
            ], from: "push")
        try await scene.startFiller("types = [\"stepCount\", \"weight\"]")
        try await agree(scene, ["2024-03-30": 600])
        let walk = Steps(key: "a", start: night, end: "2024-03-31T00:10:00+01:00", value: 600)
        try scene.give(
            [
                walk.json,
                "{\"type\":\"weight\",\"value\":80.02,\"unit\":\"kg\",\"start\":\"2024-03-31T00:00:00Z\",\"key\":\"w\"}",
                "{\"type\":\"weight\",\"value\":82,\"unit\":\"kg\",\"start\":\"2024-03-31T09:00:00+02:00\",\"key\":\"v\"}",
            ], from: "file")
        try await scene.comesTo(
            ["2024-03-31 81.0 mean", "2024-04-01 81.0 carried 2024-03-31", "2024-04-02 81.0 carried 2024-03-31"].map {
                "me mean30 \($0)"
            })
        try await agree(scene, ["2024-03-30": 600])
        // Retract the record that counted: half of the other one lies on the next day.
        try scene.give(["{\"kind\":\"retraction\",\"key\":\"a\"}"], from: "push")
        try await agree(scene, ["2024-03-30": 300, "2024-03-31": 300])
        try scene.give(
            ["{\"type\":\"stepCount\",\"value\":600,\"unit\":\"count\",\"start\":\"\(night)\",\"key\":\"b\"}"],
            from: "push")
        try await agree(scene, ["2024-03-30": 600])
    }

    @Test func `without an order in hub.conf the source with the hub's first record of any type takes precedence`()
        async throws
    {
        let scene = try await Scene(hub: conf)
        // The gap-filler does not receive the watch's weight, and reads the phone's steps first.
        try scene.give(
            [
                "{\"type\":\"weight\",\"value\":80,\"unit\":\"kg\",\"start\":\"2024-03-30T07:00:00+01:00\",\"key\":\"w\"}"
            ],
            from: "watch")
        try scene.give([phone[0].json], from: "phone")
        try scene.give([watch[0].json], from: "watch")
        try await scene.startFiller("types = [\"stepCount\"]")
        try await agree(scene, ["2024-03-30": 1_200])
        let (trace, days) = (try await scene.host.command("trace", "2").lines, try scene.records([.day]).records)
        #expect(days.count == 1 && trace.contains { $0.contains("2024-03-30") }, "\(trace)")
    }

    @Test func `days with a later start equal the statistics with that anchor`() async throws {
        let scene = try await Scene(hub: conf)
        try scene.give(phone.map(\.json), from: "phone")
        try await scene.startFiller("types = [\"stepCount\"]\nday_start = \"04:00\"\nday_zone = \"current\"")
        // Steps after midnight belong to the day before; the 31st lasts from four to four.
        try await scene.settle()
        #expect(try days(scene) == ["2024-03-30": 1_601, "2024-03-31": 333.5])
    }
}
