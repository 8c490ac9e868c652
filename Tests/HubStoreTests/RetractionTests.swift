import GRDB
import HubProcess
import HubStore
import Samples
import Testing

@Suite struct RetractionTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    @Test func `a source's retraction has the type and person of the retracted record`() async throws {
        let weight = try sample("a")
        _ = try await store.put(weight)
        let placement = try #require(try await store.retract(weight, reason: "deleted").placement)
        #expect((placement.number, placement.sequence, placement.previous) == (1, 2, 0))
        let retraction = try #require(placement.record)
        #expect(retraction.type == weight.type)
        #expect(retraction.assignment == (try await store.me()))
        #expect(try await store.records(numbers: [1]) == [retraction])
        #expect(try await store.retract(weight, reason: "deleted") == .duplicate(number: 1, sequence: 2))
    }

    @Test func `a source undoes its own retraction by sending the record again`() async throws {
        let weight = try sample("a")
        _ = try await store.put(weight)
        _ = try await store.retract(weight)
        #expect(try await store.put(weight)[0].placement?.sequence == 3)
        #expect(try await store.records(numbers: [1]).map(\.record) == [.sample(weight)])
    }

    @Test func `a retraction's version rejects an older put`() async throws {
        _ = try await store.put(try sample("a", version: 5))
        #expect(try await store.retract(try sample("a"), version: 4).isDuplicate)
        #expect(try await store.retract(try sample("a"), version: 6).placement != nil)
        #expect(try await store.put(try sample("a", version: 5))[0].isDuplicate)
        #expect(try await store.put(try sample("a", version: 6))[0].placement?.sequence == 3)
    }

    @Test func `no source can undo a person's retraction`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        let results = try await store.retract(numbers: [1, 99, 1], reason: "somebody else", recordedAt: 3)
        #expect(results[0].placement?.sequence == 3)
        #expect(results[1].code == "unknown")
        #expect(results[2] == .duplicate(number: 1, sequence: 3))
        #expect(try await store.put(try sample("a"))[0].isDuplicate)
        // Later versions of the source are stored but not shown.
        #expect(try await store.put(try sample("a", 99))[0].placement?.isCovered == true)
        #expect(try await store.retract(try sample("a")).placement?.isCovered == true)
        #expect(try await store.records(numbers: [1]).map(\.sequence) == [3])
        #expect(try await store.put(try sample("b", 71))[0].placement?.sequence == 6)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `a person may confirm a source's retraction`() async throws {
        _ = try await store.put(try sample("a"))
        _ = try await store.retract(try sample("a"))
        #expect(try await store.retract(numbers: [1], recordedAt: 3)[0].placement?.sequence == 3)
        #expect(try await store.put(try sample("a", 80))[0].placement?.isCovered == true)
        #expect(try await store.page(RecordQuery()).records.map(\.sequence) == [3])
    }

    @Test func `a record that the store never had cannot be retracted`() async throws {
        #expect(try await store.retract(try sample("a")).code == "unknown")
        let missing = RecordIdentity.day(
            person: "me", type: try type("weight"), series: "x", date: LocalDate(daysSinceEpoch: 0))
        let retraction = Retraction(identity: missing, source: Source(plugin: "gap-filler"))
        #expect(try await store.put([.retraction(retraction)])[0].code == "unknown")
        #expect(store.head == 0)
    }

    @Test func `a sample is retracted by its own source only, and a source cannot retract as a person`() async throws {
        let weight = try sample("a")
        _ = try await store.put(weight)
        let foreign = Retraction(identity: .sample(scale, weight.key), source: Source(plugin: "sami"))
        #expect(try await store.put([.retraction(foreign)])[0].code == "source")
        let posing = Retraction(identity: .sample(scale, weight.key), source: scale, author: .person)
        #expect(try await store.put([.retraction(posing)])[0].code == "reserved")
    }

    @Test func `the retraction of a record without a person stays in the inbox`() async throws {
        let inbox = Assignment.nobody(reason: "no rule")
        _ = try await store.put([.sample(try sample("a")), .sample(try sample("b"))], inbox)
        let placement = try #require(try await store.retract(try sample("a")).placement)
        #expect(placement.previous == 2)
        #expect(placement.record?.assignment == inbox)
    }

    @Test func `a day is unique by person, type, series and date`() async throws {
        let first = try await store.put([
            .day(try day("2024-03-15", 70)), .day(try day("2024-03-15", 70, series: "carried")),
        ])
        #expect(first.map(\.placement?.sequence) == [1, 2])
        let uid = try #require(try await store.me().person?.uid)
        #expect(
            try await store.put([.day(try day("2024-03-15", 70, person: uid))])[0] == .duplicate(number: 1, sequence: 1)
        )
        #expect(try await store.put([.day(try day("2024-03-15", 71))])[0].placement?.sequence == 3)
        let other = try #require(try await store.ensurePersons(["you"], recordedAt: 1).first)
        #expect(try await store.put([.day(try day("2024-03-15", 71))], .person(other))[0].code == "person")
        #expect(try await store.put([.day(try day("2024-03-15", 71))], .nobody(reason: "?"))[0].code == "person")
        let identity = RecordIdentity.day(
            person: uid, type: try type("weight"), series: "mean30", date: try #require(LocalDate("2024-03-15")))
        #expect(try await store.record(identity)?.record == .day(try day("2024-03-15", 71)))
    }

    @Test func `a day is retracted and restored like a sample`() async throws {
        _ = try await store.put([.day(try day("2024-03-15", 70))])
        let identity = RecordIdentity.day(
            person: "me", type: try type("weight"), series: "mean30", date: try #require(LocalDate("2024-03-15")))
        let retraction = Retraction(identity: identity, source: Source(plugin: "gap-filler"), reason: "basis gone")
        let placement = try #require(try await store.put([.retraction(retraction)])[0].placement)
        #expect((placement.number, placement.sequence) == (1, 2))
        #expect(placement.record?.record == .retraction(retraction))
        #expect(try await store.put([.day(try day("2024-03-15", 70))])[0].placement?.sequence == 3)
        _ = try await store.retract(numbers: [1], recordedAt: 4)
        #expect(try await store.put([.day(try day("2024-03-15", 75))])[0].isDuplicate)
        #expect(try await store.verifyAccounts() == [])
    }

    @Test func `R7.2 a day's retraction is counted on the topic of its series, also in a store of an older format`()
        async throws
    {
        func put(_ series: String, _ store: Store) async throws {
            _ = try await store.put([.day(try day("2024-03-15", 72, series: series))])
        }
        func retract(_ series: String, _ store: Store) async throws -> Int64? {
            let identity = RecordIdentity.day(
                person: "me", type: .weight, series: series, date: try #require(LocalDate("2024-03-15")))
            let retraction = Retraction(identity: identity, source: Source(plugin: "gap-filler"), reason: nil)
            return try await store.put([.retraction(retraction)])[0].placement?.previous
        }
        let folder = try TemporaryFolder()
        var store = try folder.open()
        _ = try await store.put(try sample("a"))
        try await put("mean30", store)
        try await put("other", store)
        #expect(try await store.retract(try sample("a")).placement?.previous == 0)
        #expect(try await retract("mean30", store) == 0)
        #expect(try await retract("other", store) == 0)
        try await put("mean30", store)
        #expect(try await retract("mean30", store) == 5)
        let trace = try #require(try await store.trace(2))
        #expect((trace.topicHead, trace.topicCount) == (8, 2))
        #expect(try await store.verifyAccounts() == [])
        try store.close()

        // As counted by the older format: days of both series in the stream of their plugin.
        try folder.change(
            """
            CREATE TEMP TABLE days AS SELECT * FROM stream
                WHERE kind = 2 AND label IN (SELECT label FROM stream WHERE kind = 1);
            DELETE FROM stream WHERE id IN (SELECT id FROM days);
            INSERT INTO stream (id, kind, type, person, label, last_seq, count, longest) SELECT min(id), 2, type, person, (SELECT id FROM term WHERE text = 'gap-filler'),
                max(last_seq), sum(count), 0 FROM days;
            DELETE FROM grdb_migrations WHERE identifier = 'v8';
            """)
        store = try folder.open()
        #expect(try await store.verifyAccounts() == [])
        try await put("other", store)
        #expect(try await retract("other", store) == 6)
    }

    @Test func `a trace shows every version with its time, and the record that a retraction has removed`() async throws
    {
        let owner = try await store.me()
        for (time, value) in [(10, 70.0), (20, 71.0)] {
            let intake = IntakeRecord(record: .sample(try sample("a", value)), assignment: owner)
            _ = try await store.commit([IntakeBatch(instance: "scale", records: [intake])], recordedAt: Int64(time))
        }
        _ = try await store.retract(numbers: [1], reason: "guest", recordedAt: 30)
        let trace = try #require(try await store.trace(1))
        #expect(trace.versions.map(\.recordedAt) == [10, 20, 30])
        #expect(trace.versions.map(\.record.sequence) == [1, 2, 3])
        #expect(trace.versions[0].record.record == .sample(try sample("a", 70)))
        #expect(trace.retracted?.record == .sample(try sample("a", 71)))
        let retraction = try #require(trace.versions[2].record.record.retraction)
        #expect(retraction.author == .person)
        #expect(retraction.reason == "guest")
        #expect((trace.topicHead, trace.topicCount) == (3, 1))
        #expect(try await store.trace(2) == nil)
    }
}
