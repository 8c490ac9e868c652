import HubProcess
import HubSettings
import HubStore
import HubWire
import Samples
import Testing

@testable import HubCore

/// Storing statistics of whole hours in advance.
@Suite struct RollupMaintenanceTests {
    @Test(arguments: [
        ("UTC", 0), ("Europe/Berlin", 0), ("Asia/Kolkata", 30), ("Asia/Kathmandu", 15), ("America/St_Johns", 30),
    ])
    func `hours begin at the hours of the person's zone`(zone: String, phase: Int64) {
        #expect(RollupMaintenance.phase(of: zone, at: 1_774_656_000_000_000) == phase)
    }

    @Test func `one round stores the hours of types with many samples, by the order of sources in hub conf`()
        async throws
    {
        let folder = try TemporaryFolder()
        let store = try Store(path: folder.path + "/hub.sqlite", now: 1)
        let me = try await store.ensurePersons(["me"], recordedAt: 1)[0]
        let records = try (0..<3_000).map { number in
            let time = Timestamp(microseconds: Int64(number) * 300_000_000, offsetMinutes: 0)
            return IntakeRecord(
                record: .sample(
                    Sample(
                        source: Source(plugin: "phone"), key: try #require(RecordKey("\(number)")),
                        type: try TypeID("stepCount"), value: .quantity(7, unit: "count"), start: time, end: time)),
                assignment: .person(me))
        }
        _ = try await store.commit([IntakeBatch(instance: "phone", records: records)], recordedAt: 1)
        var rounds = RollupMaintenance(store: store, committer: Committer(store: store, clock: .system), clock: .system)
        (rounds.rest, rounds.pause) = (0, .zero)
        let section = PrioritySection(name: "steps", types: nil, persons: nil, sources: ["watch", "phone"])
        try await rounds.followOnce([section], .standard, ["me": "Asia/Kolkata"], until: Latch())
        var query = StatisticsQuery(of: me.uid, try TypeID("stepCount"), unit: "count", .cumulative)
        query.priority = ["watch", "phone"]
        // With this order of sources nothing is left to do, with another one there is.
        #expect(try await !store.rollUp(query, phase: 30, now: .max / 2))
        query.priority = ["phone", "watch"]
        #expect(try await store.rollUp(query, phase: 30, now: .max / 2))
        try store.close()
    }
}
