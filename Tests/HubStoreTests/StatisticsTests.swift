import HubProcess
import Samples
import Testing

@testable import HubStore

/// How statistics read the store; HealthStatisticsTests covers their definition.
@Suite struct StatisticsTests {
    private static let second: Int64 = 1_000_000
    private static let day: Int64 = 86_400 * second

    /// Heart rates every ten seconds for a day and a half, one of which lasts a week.
    private func store(_ folder: TemporaryFolder) async throws -> Store {
        let store = try Store(path: folder.path + "/hub.sqlite", now: 1)
        let anna = try await store.ensurePersons(["anna"], recordedAt: 1)[0]
        let records = try (0..<12_960).map { number in
            let start = Self.day * 20_000 + Int64(number) * 10 * Self.second
            let time = Timestamp(microseconds: start, offsetMinutes: 0)
            return IntakeRecord(
                record: .sample(
                    Sample(
                        source: Source(plugin: "watch"), key: try #require(RecordKey("\(number)")),
                        type: try TypeID("heartRate"), value: .quantity(Double(60 + number % 40), unit: "count/min"),
                        start: time,
                        end: number == 5 ? Timestamp(microseconds: start + 7 * Self.day, offsetMinutes: 0) : time)),
                assignment: .person(anna))
        }
        _ = try await store.commit([IntakeBatch(instance: "watch", records: records)], recordedAt: 1)
        return store
    }

    @Test func `R8.54 the figures are the same in pieces of any size, and each piece is short`() async throws {
        let folder = try TemporaryFolder()
        let store = try await store(folder)
        let hours = try #require(Intervals(.hour, zone: "UTC"))
        let query = StatisticsQuery(
            of: "anna", try TypeID("heartRate"), unit: "count/min", .discreteTemporallyWeighted, intervals: hours)
        func rows(within duration: Duration) async throws -> (rows: [StatisticsRow], pieces: Int) {
            try await store.readSnapshot("test") { reader in
                var (walk, pieces) = (StatisticsWalk(query), 0)
                while !walk.isOver {
                    try reader.advance(&walk, within: duration)
                    pieces += 1
                }
                return (walk.rows, pieces)
            }
        }
        let (whole, once) = try await rows(within: .seconds(100))
        let (parts, pieces) = try await rows(within: .zero)
        #expect(once == 1 && pieces > 3 && whole.count == 36)
        func figures(_ rows: [StatisticsRow]) -> [[Double?]] {
            rows.map { row in
                [Double(row.from), row.total.average(query.style), row.total.minimum, Double(row.total.count)]
            }
        }
        #expect(figures(whole) == figures(parts))
        #expect(whole.allSatisfy { $0.total.count == 360 })
    }

    @Test func `one sample in the year 9999 does not make a query visit every year`() async throws {
        let folder = try TemporaryFolder()
        let store = try await store(folder)
        let anna = try await store.ensurePersons(["anna"], recordedAt: 1)[0]
        let late = Timestamp(microseconds: Timestamp.range.upperBound - Self.day, offsetMinutes: 0)
        let odd = Sample(
            source: Source(plugin: "watch"), key: try #require(RecordKey("odd")), type: try TypeID("heartRate"),
            value: .quantity(77, unit: "count/min"), start: late, end: late)
        _ = try await store.commit(
            [IntakeBatch(instance: "watch", records: [IntakeRecord(record: .sample(odd), assignment: .person(anna))])],
            recordedAt: 1)
        var query = StatisticsQuery(of: "anna", try TypeID("heartRate"), unit: "count/min", .discreteTemporallyWeighted)
        var walk = StatisticsWalk(query)
        var pieces = 0
        while !walk.isOver {
            try await store.readSnapshot("test") { [begun = walk] reader in
                var walk = begun
                try reader.advance(&walk, within: .zero)
                return walk
            }.take(&walk)
            pieces += 1
        }
        #expect(walk.rows.first?.total.count == 12_961 && pieces < 20, "\(pieces)")
        // By year, the page also contains empty years and ends before the last sample.
        query.intervals = Intervals(.year, zone: "UTC")
        query.limit = 100
        walk = StatisticsWalk(query)
        while !walk.isOver { walk = try await store.advance(walk) }
        #expect(walk.rows.count == 100 && walk.next != nil && walk.rows[50].total.count == 0)
    }
}

extension StatisticsWalk {
    fileprivate func take(_ other: inout StatisticsWalk) { other = self }
}
