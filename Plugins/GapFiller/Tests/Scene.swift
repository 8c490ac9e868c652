import Foundation
import HubClient
import HubProcess
import HubWire
import Samples
import Testing

/// A hub and a gap-filler as processes; each can be killed and started again.
final class Scene {
    let host: HubHost
    private(set) var hub: ChildProcess
    private var filler: ChildProcess?
    private var settings = ""

    init(hub settings: String = "", plugins: String = "") async throws {
        host = try HubHost(hub: settings, plugins: plugins)
        hub = try await host.start()
    }

    // MARK: - Processes

    /// Starts the gap-filler with settings in TOML; without an argument, with the former settings.
    ///
    /// - Parameter isReady: wait until it has compared all days and receives every change.
    func startFiller(_ settings: String? = nil, isReady: Bool = true) async throws {
        self.settings = settings ?? self.settings
        filler = try host.plugin("hub-gap-filler", settings: self.settings, state: "filler")
        guard isReady else { return }
        _ = await filler?.errorLines(count: 1) { $0.contains("the days are as they should be") }
        _ = await filler?.errorLines(count: 2) { $0.contains("subscription is open") }
    }

    /// Stops the gap-filler; returns when it has ended normally.
    func stopFiller() async throws {
        let filler = try #require(filler)
        #expect(await filler.stop() == 0, "\(filler.errorLines.suffix(5))")
    }

    func killFiller() async { await filler?.killAndWait() }

    func killHub() async throws {
        await hub.killAndWait()
        hub = try await host.start()
    }

    var fillerLog: [String] { filler?.errorLines ?? [] }

    // MARK: - Requests

    private func door(source: String? = nil) throws -> DoorClient {
        try DoorClient(endpoint: host.door, command: "test", source: source)
    }

    struct Weighing {
        var key: String
        /// In the form of RFC 3339.
        var start: String
        var value: Double
        var type = "weight"
        var unit = "kg"
        var subject: String?

        var json: String {
            let subject = subject.map { ",\"subject\":{\"name\":\"\($0)\"}" } ?? ""
            return "{\"type\":\"\(type)\",\"value\":\(value),\"unit\":\"\(unit)\",\"start\":\"\(start)\","
                + "\"key\":\"\(key)\"\(subject)}"
        }
    }

    /// Stores records as a source would; returns the hub's results.
    @discardableResult func give(_ records: [String], from source: String? = nil) throws -> [RecordResult] {
        let door = try door(source: source)
        try door.open()
        var raw = RawRecords()
        for record in records { raw.append(Array(record.utf8)) }
        try door.send(.samples(SamplesEnvelope(batch: 1, records: raw)))
        while true {
            let answer = try #require(try door.receive(ref: 1, within: .seconds(30)))
            if case .stored(let stored) = answer { return stored.results }
        }
    }

    @discardableResult func give(_ weighings: Weighing...) throws -> [RecordResult] { try give(weighings.map(\.json)) }

    /// Rewrites `hub.conf` and applies it.
    func apply(_ change: (String) -> String) async throws {
        try host.edit(change)
        let applied = try await host.command("apply")
        #expect(applied.status == 0, "\(applied.errors)")
    }

    func retract(_ key: String) throws { try give(["{\"kind\":\"retraction\",\"key\":\"\(key)\"}"]) }

    /// The hub's records of these kinds that changed after a cursor.
    func records(_ kinds: [QueryRequest.Kind], since: Cursor? = nil) throws -> (records: [StoredRecord], cursor: Cursor)
    {
        var filter = QueryRequest.Filter()
        filter.kinds = kinds
        var (records, cursor): ([StoredRecord], Cursor?) = ([], nil)
        var reader = RecordReader()
        try door().pages(QueryRequest(id: 0, filter: filter, since: since)) { page, last in
            for bytes in page { records.append(try reader.record(bytes)) }
            cursor = last
        }
        return (records, try #require(cursor))
    }

    /// Waits until the subscriptions of the gap-filler have no pending records; then all days that follow are stored.
    func settle() async throws {
        struct Status: Decodable {
            struct Sink: Decodable { var name: String, pending, retrying: Int64 }
            var sinks: [Sink]
        }
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            // The hub may be starting.
            if let answer = try? door().ask(.status),
                let status = try? JSONDecoder().decode(Status.self, from: Data(answer.bytes)),
                // The two subscriptions open one after the other.
                status.sinks.count == 2, status.sinks.allSatisfy({ $0.pending + $0.retrying == 0 })
            {
                return
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("the days were not made in a minute: \(fillerLog.suffix(5))")
    }

    // MARK: - Days

    /// A day as a line: `me mean30 2024-05-11 80.0 carried 2024-05-10`.
    static func line(_ day: DayValue) -> String {
        let from = day.observedOn.map { " \($0.text)" } ?? ""
        return "\(day.person) \(day.series) \(day.date.text) \(day.value) \(day.method)\(from)"
    }

    /// All days, sorted.
    func days(series: String = "mean30") throws -> [String] {
        try records([.day]).records.compactMap { stored in
            guard case .day(let day) = stored.record, day.series == series else { return nil }
            return Self.line(day)
        }.sorted()
    }

    /// Waits until the hub has exactly these days.
    func comesTo(_ expected: [String]) async throws {
        let end = ContinuousClock.now + .seconds(60)
        while try days() != expected.sorted(), ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(20))
        }
        let found = try days()
        #expect(found == expected.sorted(), "\(fillerLog.suffix(5))")
    }

    /// The changes since a cursor: lines of days, and `- person series date` for retracted ones.
    func changes(since cursor: Cursor) throws -> [String] {
        try records([.day, .retraction], since: cursor).records.compactMap { stored in
            switch stored.record {
            case .day(let day): return Self.line(day)
            case .retraction(let retraction):
                guard case .day(_, _, let series, let date) = retraction.identity else { return nil }
                return "- \(stored.assignment.person?.name ?? "") \(series) \(date.text)"
            case .sample: return nil
            }
        }.sorted()
    }

    /// The expected days, computed from scratch from all readings of the hub.
    func expected(_ rules: SeriesRules = SeriesRules(.mean, mirrorTolerance: 0.05), today: String) throws -> [String] {
        let calendar = try #require(DayCalendar(zone: "Europe/Berlin"))
        let last = try #require(LocalDate(today))
        var readings: [String: [Reading]] = [:]
        for stored in try records([.quantity]).records {
            guard case .sample(let sample) = stored.record, case .quantity(let value, _) = sample.value,
                let person = stored.assignment.person?.name, value > 0
            else { continue }
            let reading = Reading(
                number: stored.number, time: sample.start.microseconds, value: value,
                day: calendar.day(of: sample.start))
            readings[person, default: []].append(reading)
        }
        return readings.flatMap { person, readings in
            DayFill.series(readings, rules, through: Int32(last.daysSinceEpoch)).map { day in
                let (date, from) = (
                    LocalDate(daysSinceEpoch: Int(day.day)), LocalDate(daysSinceEpoch: Int(day.observedOn))
                )
                let how = day.age > 0 ? "carried \(from.text)" : rules.aggregator.rawValue
                return "\(person) \(rules.name) \(date.text) \(day.value) \(how)"
            }
        }.sorted()
    }
}
