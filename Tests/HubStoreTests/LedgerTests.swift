import GRDB
@testable import HubStore
import Samples
import Testing

let exporter = SinkID(instance: "exporter", want: "all")

/// A sink as the hub runs it: asks for pages, knows what is on its way, and answers.
struct SinkSession {
    let store: Store
    let id: SinkID
    var position: Int64
    /// Number to version, of what is on its way, and whether it was given after the position (not from a row).
    var flight: [Int64: StoredRecord] = [:]
    var now: Int64 = 1_000

    init(
        _ store: Store, _ id: SinkID = exporter, _ terms: SinkTerms = SinkTerms(target: .init(plugin: "exporter")),
        from start: SinkStart = .now
    ) async throws {
        (self.store, self.id) = (store, id)
        position = try await store.openSink(id, terms, from: start, recordedAt: 1_000).cursor.sequence
    }

    /// All that can be given now.
    mutating func take(_ records: Int = 100) async throws -> [StoredRecord] {
        var taken: [StoredRecord] = []
        while true {
            let page = try await store.deliveries(
                of: id, after: position, limits: DeliveryLimits(records: records), inFlight: Set(flight.keys), at: now)
            position = page.position
            for record in page.records { flight[record.number] = record }
            taken += page.records
            if !page.hasMore { return taken }
        }
    }

    mutating func answer(_ record: StoredRecord, _ result: SinkResult) async throws {
        flight[record.number] = nil
        let reached = min(position, (flight.values.map(\.sequence).min() ?? .max) - 1)
        let answer = SinkAnswer(number: record.number, sequence: record.sequence, result: result)
        try await store.settle([SinkSettlement(sink: id, answers: [answer], reached: reached)], recordedAt: now)
    }

    mutating func answer(_ records: [StoredRecord], _ result: SinkResult = .delivered()) async throws {
        for record in records { try await answer(record, result) }
    }

    func account() async throws -> [String: Int64] {
        let account = try await store.sink(id).account
        #expect(try await store.verifyAccounts() == [])
        let counts = [
            "wanted": account.wanted, "delivered": account.delivered, "pending": account.pending,
            "retrying": account.retrying, "refused": account.refused, "superseded": account.superseded,
            "skipped": account.skipped,
        ]
        return counts.filter { $0.value != 0 }
    }
}

@Suite struct LedgerTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    @Test func `what is stored after a sink was opened is delivered once, and needs no row`() async throws {
        let store = try folder.open()
        _ = try await store.put(try sample("before"))
        var sink = try await SinkSession(store)
        _ = try await store.put(try sample("a"), try sample("b"))
        #expect(try await sink.account() == ["wanted": 2, "pending": 2])
        let taken = try await sink.take()
        #expect(taken.map(\.number) == [2, 3])
        #expect(try await sink.take() == [])
        try await sink.answer(taken)
        #expect(try await sink.account() == ["wanted": 2, "delivered": 2])
        #expect(try await store.sink(exporter).cursor == store.cursor)
        let rows = try await store.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM delivery") }
        #expect(rows == 0)
    }
}
