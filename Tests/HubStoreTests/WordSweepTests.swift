import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

/// A word that comes into use again during the sweep for unused words is kept.
@Suite struct WordSweepTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A store whose record 1, with the zone `glow`, is erased except for its words, and a sweep that has read all rows.
    private func swept() async throws -> (store: Store, sweep: WordSweep, head: Int64) {
        let store = try folder.open()
        var erased = try sample("erased")
        erased.zone = "glow"
        _ = try await store.put(erased, try sample("other"))
        _ = try await store.beginErasure(of: .numbers([1]), removingCopies: true)
        while try await !store.carryOut(.eraseNext, recordedAt: 9).isEmpty {}
        let head = store.head
        var sweep = try await store.read("sweep") { db in try WordSweep(from: db) }
        #expect(!sweep.words.isEmpty)
        while !sweep.isOver {
            let before = sweep
            sweep = try await store.read("sweep") { db in
                var sweep = before
                try sweep.look(in: db)
                return sweep
            }
        }
        return (store, sweep, head)
    }

    private func forget(_ swept: (store: Store, sweep: WordSweep, head: Int64)) async throws {
        let (sweep, head) = (swept.sweep, swept.head)
        while try await swept.store.write("forget", 0, { try sweep.removeUnused(after: head, in: &$0) }) {}
        #expect(try await swept.store.finishErasure())
        #expect(try await swept.store.verifyAccounts() == [])
    }

    private func count(_ sql: String, in store: Store) async throws -> Int {
        try await store.read("count") { db in try Int.fetchOne(db, sql: sql) ?? 0 }
    }

    @Test func `a word stored during the sweep is kept, even if only a superseded version has it`() async throws {
        let swept = try await swept()
        var sample = try sample("other")
        sample.zone = "glow"
        let number = try #require(try await swept.store.put(sample)[0].placement).number
        sample.zone = "Europe/Berlin"
        _ = try await swept.store.put(sample)
        try await forget(swept)
        let zones = try #require(try await swept.store.trace(number)).versions.map(\.record.record.sample?.zone)
        #expect(zones.contains("glow"))
    }

    @Test func `a word that becomes a plugin's name during the sweep is kept`() async throws {
        let swept = try await swept()
        _ = try await swept.store.put(try sample("new", source: Source(plugin: "glow")))
        try await forget(swept)
        #expect(
            try await count(
                "SELECT count(*) FROM stream JOIN term ON term.id = label WHERE text = 'glow'", in: swept.store) == 1)
    }

    @Test func `a word of another record is kept until that record is erased, too`() async throws {
        let swept = try await swept()
        var sample = try sample("new")
        sample.zone = "glow"
        let number = try #require(try await swept.store.put(sample)[0].placement).number
        try await forget(swept)
        let glow = "SELECT count(*) FROM term WHERE text = 'glow'"
        #expect(try await count(glow, in: swept.store) == 1)
        _ = try await swept.store.beginErasure(of: .numbers([number]), removingCopies: true)
        while try await !swept.store.carryOut(.eraseNext, recordedAt: 9).isEmpty {}
        #expect(try await swept.store.finishErasure())
        #expect(try await count(glow, in: swept.store) == 0)
    }

    @Test func `a person needed again before the name is forgotten keeps it`() async throws {
        let store = try folder.open()
        let carl = try #require(try await store.ensurePersons(["carl"], recordedAt: 1).first)
        _ = try await store.put([.sample(try sample("a"))], .person(carl))
        let query = RecordQuery { $0.persons = [.person("carl")] }
        _ = try await store.beginErasure(of: .matching(query), forgetting: "carl", removingCopies: true)
        while try await !store.carryOut(.eraseNext, recordedAt: 9).isEmpty {}
        #expect(try await store.ensurePersons(["carl"], recordedAt: 2) == [carl])
        _ = try await store.put([.sample(try sample("b"))], .person(carl))
        #expect(try await store.finishErasure())
        #expect(try await store.persons().contains(carl))
        #expect(try await store.ensurePersons(["carl"], recordedAt: 3) == [carl])
    }
}
