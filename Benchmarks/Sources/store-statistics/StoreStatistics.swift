import Foundation
import HubStore
import Samples

/// Fills a store with many records and measures how long it takes to answer questions about years.
///
/// The records are heart rates over ten years, a weight a day, and ten samples each of 98 types.
@main
enum StoreStatistics {
    private static let day: Int64 = 86_400_000_000
    private static let days: Int64 = 3_650
    /// 1 January 2014.
    private static let begin = 16_071 * day

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let count = Int64(arguments[2]), count >= 10 * days, let runs = Int(arguments[3])
        else {
            fatalError(
                "usage: store-statistics NEW_STORE RECORDS RUNS; with 0 RUNS it only makes the store")
        }
        var store = try Store(path: arguments[1], now: 0)
        try await fill(store, count)
        let heart = try heart()
        guard runs > 0 else {
            while try await store.rollUp(heart, phase: 0, now: .max / 2) {}
            return try store.close()
        }
        try store.close()
        // A copy of the store without any rolled-up sums.
        let plain = arguments[1] + ".plain"
        for file in ["", ".sequences"] {
            try FileManager.default.copyItem(atPath: arguments[1] + file, toPath: plain + file)
        }
        store = try Store(path: arguments[1], now: 0)
        let begun = ContinuousClock.now
        while try await store.rollUp(heart, phase: 0, now: .max / 2) {}
        print("rollup_seconds", (ContinuousClock.now - begun) / .seconds(1))
        try await commits(store, try Store(path: plain, now: 0))

        var weight = RecordQuery()
        (weight.types, weight.persons, weight.order) = ([try TypeID("weight")], [.person("me")], .time)
        (weight.from, weight.to, weight.limit) = (begin + 8 * 365 * day, begin + 9 * 365 * day, 1_000)
        var latest = RecordQuery()
        (latest.order, latest.limit) = (.latest, 1_000)
        try await time("year_of_weight_ms", runs) { [store, weight] in
            let found = try await store.page(weight).records.count
            precondition(found == 365)
        }
        try await time("ten_years_daily_ms", runs) { [store] in
            var walk = StatisticsWalk(heart)
            var rows = 0
            while true {
                while !walk.isOver { walk = try await store.advance(walk) }
                rows += walk.rows.count
                guard let next = walk.next else { break }
                var rest = heart
                rest.first = next
                walk = StatisticsWalk(rest)
            }
            precondition((days...days + 1).contains(Int64(rows)))
        }
        try await time("latest_of_100_ms", runs) { [store, latest] in
            // On a busy machine a page may end before it is full.
            var (query, found) = (latest, 0)
            repeat {
                let page = try await store.page(query)
                found += page.records.count
                query.next = page.next
            } while query.next != nil
            precondition(found == 100)
        }
        try store.close()
    }

    private static func heart() throws -> StatisticsQuery {
        var query = StatisticsQuery(
            of: "me", try TypeID("heartRate"), unit: "count/min", .discreteTemporallyWeighted,
            intervals: Intervals(.day, zone: "Europe/Berlin"))
        query.to = begin + days * day
        return query
    }

    /// Prints the median time of the runs.
    private static func time(
        _ name: String, _ runs: Int, _ body: @Sendable () async throws -> Void
    ) async throws {
        var times: [Double] = []
        for _ in 0..<max(1, runs) {
            let begun = ContinuousClock.now
            try await body()
            times.append((ContinuousClock.now - begun) / .milliseconds(1))
        }
        times.sort()
        print(name, times[times.count / 2])
    }

    /// Appends 40,000 heart rates to each store in turn, nine times, and prints the median records a second.
    private static func commits(_ rolled: Store, _ plain: Store) async throws {
        var (rates, others): ([Double], [Double]) = ([], [])
        for _ in 0..<9 {
            rates.append(try await append(to: rolled))
            others.append(try await append(to: plain))
        }
        print("commits_with_per_s", rates.sorted()[4])
        print("commits_without_per_s", others.sorted()[4])
        print("commits_ratio", zip(rates, others).map { $0 / $1 }.sorted()[4])
        try plain.close()
    }

    private static func append(to store: Store) async throws -> Double {
        let me = Assignment.person(try await store.ensurePersons(["me"], recordedAt: 0)[0])
        let head = store.head
        let batches = try (Int64(0)..<10).map { batch in
            let records = try (1...Int64(4_000)).map { number in
                let second = head + batch * 4_000 + number
                let time = Timestamp(microseconds: begin + days * day + second * 1_000_000, offsetMinutes: 60)
                guard let key = RecordKey("later \(second)") else { fatalError("no key") }
                let sample = Sample(
                    source: Source(plugin: "watch"), key: key, type: try TypeID("heartRate"),
                    value: .quantity(60, unit: "count/min"), start: time, end: time)
                return IntakeRecord(record: .sample(sample), assignment: me)
            }
            return IntakeBatch(instance: "bench", records: records)
        }
        let begun = ContinuousClock.now
        for batch in batches { _ = try await store.commit([batch], recordedAt: 0) }
        return 40_000 / ((ContinuousClock.now - begun) / .seconds(1))
    }

    private static func fill(_ store: Store, _ count: Int64) async throws {
        let me = Assignment.person(try await store.ensurePersons(["me"], recordedAt: 0)[0])
        var batch: [IntakeRecord] = []
        var number: Int64 = 0
        func put(_ type: String, _ value: Double, _ unit: String, at time: Int64, in store: Store) async throws {
            guard let key = RecordKey("\(number)") else { return }
            number += 1
            let moment = Timestamp(microseconds: time, offsetMinutes: 60)
            batch.append(
                IntakeRecord(
                    record: .sample(
                        Sample(
                            source: Source(plugin: "watch"), key: key, type: try TypeID(type),
                            value: .quantity(value, unit: unit), start: moment, end: moment)), assignment: me))
            guard batch.count == 4_000 else { return }
            try await flush()
        }
        func flush() async throws {
            _ = try await store.commit([IntakeBatch(instance: "bench", records: batch)], recordedAt: 0)
            batch.removeAll(keepingCapacity: true)
        }
        for type in 0..<98 {
            for time in 0..<10 {
                try await put("x.bench.type\(type)", 1, "count", at: begin + Int64(time) * day, in: store)
            }
        }
        let hearts = count - days - number
        var placed: Int64 = 0
        for today in 0..<days {
            try await put("weight", 80 + Double(today % 7) / 10, "kg", at: begin + today * day + day / 3, in: store)
            while placed < hearts * (today + 1) / days {
                let time = begin + placed * (days * day / hearts)
                try await put("heartRate", 55 + Double(placed % 61), "count/min", at: time, in: store)
                placed += 1
            }
        }
        try await flush()
        precondition(store.head == count, "not every record was stored")
    }
}
