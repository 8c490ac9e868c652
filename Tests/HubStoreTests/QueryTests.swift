import Foundation
import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

@Suite struct QueryTests {
    let folder: TemporaryFolder
    let store: Store

    init() throws { (folder, store) = try newStore() }

    private func keys(_ records: [StoredRecord]) -> [String] {
        records.compactMap { record in
            switch record.record.identity {
            case .sample(_, let key): key.text
            case .day(_, _, _, let date): date.text
            }
        }
    }

    private func keys(_ query: RecordQuery) async throws -> [String] { keys(try await store.all(query).records) }

    @Test func `time follows HealthKit: overlap by default, strict by option`() async throws {
        // Seconds:      10      20
        // before  8–9 · touching 5–10 · over 9–11 · inside 12–13 · instant 10 · late 19–21 · after 20–25 · around 1–99
        let spans: [(String, Int64, Int64)] = [
            ("before", 8, 9), ("touching", 5, 10), ("over", 9, 11), ("inside", 12, 13), ("instant", 10, 10),
            ("late", 19, 21),
            ("after", 20, 25), ("around", 1, 99),
        ]
        _ = try await store.put(try spans.map { .sample(try sample($0, at: $1, lasting: $2 - $1)) })
        var query = RecordQuery { ($0.order, $0.from, $0.to) = (.time, 10_000_000, 20_000_000) }
        #expect(try await keys(query) == ["around", "touching", "over", "instant", "inside", "late"])
        query.strictStart = true
        #expect(try await keys(query) == ["instant", "inside", "late"])
        query.strictEnd = true
        #expect(try await keys(query) == ["instant", "inside"])
        query.strictStart = false
        #expect(try await keys(query) == ["touching", "over", "instant", "inside"])
        query.to = nil
        query.strictEnd = false
        query.order = .newestFirst
        #expect(try await keys(query) == ["after", "late", "inside", "instant", "over", "touching", "around"])
        query.from = nil
        query.to = 8_000_000
        #expect(try await keys(query) == ["touching", "around"])
        query.from = .min
        query.to = .max
        #expect(try await keys(query).count == spans.count)
    }

    @Test(arguments: ["+02:00", "-05:00", "+14:00"])
    func `a day lasts from midnight to midnight at the offset of the span`(offset: String) async throws {
        _ = try await store.put([
            .day(try day("2026-06-30", 70)), .day(try day("2026-07-01", 71)), .day(try day("2026-07-02", 69)),
        ])
        var query = RecordQuery { $0.order = .time }
        query.setSpan(
            from: try Timestamp(parsing: "2026-07-01T00:00:00\(offset)"),
            to: try Timestamp(parsing: "2026-07-02T00:00:00\(offset)"))
        #expect(try await keys(query) == ["2026-07-01"])
        query.order = .sequence
        #expect(try await keys(query) == ["2026-07-01"])
        query.setSpan(from: try Timestamp(parsing: "2026-07-01T23:59:59\(offset)"), to: nil)
        #expect(try await keys(query) == ["2026-07-01", "2026-07-02"])
    }

    @Test func `a day lasts from midnight to midnight UTC`() async throws {
        _ = try await store.put([
            .day(try day("1970-01-01", 70)), .day(try day("1970-01-02", 71)), .day(try day("1969-12-31", 69)),
        ])
        var query = RecordQuery { ($0.order, $0.from, $0.to) = (.time, 86_399_999_999, 86_400_000_000) }
        #expect(try await keys(query) == ["1970-01-01"])
        query.to = 86_400_000_001
        #expect(try await keys(query) == ["1970-01-01", "1970-01-02"])
        query.strictStart = true
        #expect(try await keys(query) == ["1970-01-02"])
        query.strictEnd = true
        #expect(try await keys(query) == [])
        query.from = -86_400_000_000
        query.to = 1
        #expect(try await keys(query) == ["1969-12-31"])
    }

    @Test func `records are found by type, person, source, kind and group`() async throws {
        let persons = try await store.ensurePersons(["me", "you"], recordedAt: 1)
        let sami = Source(plugin: "sami", device: "band")
        _ = try await store.put([.sample(try sample("mine", at: 1, group: "g"))], .person(persons[0]))
        _ = try await store.put(
            [.sample(try sample("yours", type: "heartRate", source: sami, at: 2))], .person(persons[1]))
        _ = try await store.put(
            [.sample(try sample("nobody's", source: sami, at: 3, group: "g"))], .nobody(reason: "no rule"))
        _ = try await store.put([.day(try day("1970-01-03", 70))], .person(persons[0]))
        for order in [RecordQuery.Order.sequence, .time] {
            var query = try RecordQuery { ($0.order, $0.types) = (order, [try type("weight")]) }
            #expect(try await keys(query) == ["mine", "nobody's", "1970-01-03"])
            query.persons = [.person("me"), .nobody]
            query.kinds = KindSelection([.quantity], followsChanges: false)
            #expect(try await keys(query) == ["mine", "nobody's"])
            query.persons = [.person(persons[1].uid)]
            #expect(try await keys(query) == [])
            query = RecordQuery()
            query.order = order
            query.sources = ["sami"]
            #expect(try await keys(query) == ["yours", "nobody's"])
            query.sources = ["unknown"]
            #expect(try await keys(query) == [])
            query = RecordQuery()
            query.order = order
            query.group = "g"
            #expect(try await keys(query) == ["mine", "nobody's"])
            query.kinds = KindSelection([.category], followsChanges: false)
            #expect(try await keys(query) == [])
            query.group = nil
            query.kinds = KindSelection([.day], followsChanges: false)
            #expect(try await keys(query) == ["1970-01-03"])
        }
    }

    @Test
    func `retractions are included in the order of change, and in the order of time only on request`() async throws {
        _ = try await store.put(try sample("a", at: 1), try sample("b", at: 2))
        _ = try await store.retract(try sample("a"))
        var query = RecordQuery()
        #expect(try await keys(query) == ["b", "a"])
        query.kinds = KindSelection([.quantity], followsChanges: false)
        #expect(try await keys(query) == ["b"])
        query.kinds = nil
        query.order = .time
        #expect(try await keys(query) == ["b"])
        query.kinds = KindSelection([.retraction], followsChanges: false)
        #expect(try await keys(query) == ["a"])
    }

    @Test func `pages end at the limit or at a mebibyte, and join without gaps or duplicates`() async throws {
        let text = JSONObject(trusted: "{\"a\":\"" + String(repeating: "x", count: 16_000) + "\"}")
        _ = try await store.put(
            try (0..<150).map { index in
                var heavy = try sample("\(index)", at: Int64(index / 7))
                heavy.metadata = text
                return .sample(heavy)
            })
        for order in [RecordQuery.Order.sequence, .time, .newestFirst] {
            var query = RecordQuery { $0.order = order }
            let first = try await store.page(query)
            #expect((60...70).contains(first.records.count))
            query.limit = 13
            let numbers = try await store.all(query).records.map(\.number)
            #expect(numbers == (order == .newestFirst ? Array((1...150).reversed()) : Array(1...150)))
        }
    }

    @Test func `a token is valid for its own query only`() async throws {
        _ = try await store.put(try sample("a"), try sample("b"))
        var query = RecordQuery { $0.limit = 1 }
        let next = try #require(try await store.page(query).next)
        query.next = next
        query.limit = 2
        #expect(try await store.page(query).records.map(\.number) == [2])
        query.types = [try type("weight")]
        #expect(await failure { _ = try await store.page(query) }?.code == .token)
        query.types = nil
        for garbage in [
            "", "x", "....", next + "0", String(next.dropLast()), next.replacingOccurrences(of: ".1.", with: ".2."),
            "\u{0}",
        ] {
            query.next = garbage
            #expect(await failure { _ = try await store.page(query) }?.code == .token, "\(garbage)")
        }
        query.next = next
        try await store.newEpoch()
        #expect(await failure { _ = try await store.page(query) }?.code == .epoch)
    }

    @Test func `a query that cannot be answered is refused with the reason`() async throws {
        var query = RecordQuery { $0.since = Samples.Cursor(epoch: store.epoch, sequence: 1) }
        #expect(await failure { _ = try await store.page(query) }?.code == .cursor)
        query.since = Samples.Cursor(epoch: "zzzzzzzz", sequence: 0)
        #expect(await failure { _ = try await store.page(query) }?.code == .epoch)
        query.since = store.cursor
        query.order = .time
        #expect(await failure { _ = try await store.page(query) }?.code == .query)
        query = RecordQuery()
        for limit in [0, 1_001, -1] {
            query.limit = limit
            #expect(await failure { _ = try await store.page(query) }?.code == .query)
        }
    }

    @Test func `changes during the paging of a snapshot come after its cursor, once`() async throws {
        _ = try await store.put(try (0..<20).map { .sample(try sample("\($0)")) })
        var query = RecordQuery { $0.limit = 5 }
        var page = try await store.page(query)
        var seen = keys(page.records)
        _ = try await store.put(try sample("3", 99), try sample("15", 99), try sample("new"))
        while let next = page.next {
            query.next = next
            page = try await store.page(query)
            seen += keys(page.records)
        }
        #expect(page.cursor.sequence == 20)
        #expect(seen == (0..<20).filter { $0 != 15 }.map(String.init))
        query = RecordQuery()
        query.since = page.cursor
        #expect(try await keys(query) == ["3", "15", "new"])
    }
}
