import Foundation
import GRDB
import HubProcess
import Platform
import Samples
import Testing

@testable import HubStore

/// Salvage copies the intact records of a damaged store and reports the lost ones.
@Suite struct SalvageTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var target: String { folder.path + "/salvaged.sqlite" }

    /// Stores records of every kind, with versions, retractions, days, payloads and a sink with unfinished work;
    /// returns the head.
    private func fill(samples: Int, note: String? = nil) async throws -> Int64 {
        let store = try folder.open()
        let owner = try await store.me()
        var sink = try await SinkSession(store, from: .beginning)
        for begin in stride(from: 0, to: samples, by: 1_000) {
            _ = try await store.put(
                try (begin..<begin + 1_000).map { number in
                    var sample = try sample("k\(number)", 60 + Double(number % 30), at: Int64(number) * 60)
                    sample.metadata = note.map { JSONObject(trusted: "{\"note\":\"\($0)\"}") }
                    return .sample(sample)
                })
        }
        for (place, record) in try await sink.take(500).prefix(400).enumerated() {
            try await sink.answer(
                record,
                place % 40 == 0
                    ? .refused(reason: "the sink cannot store this record")
                    : place % 40 == 1 ? .retry(at: 1 << 50, reason: "busy") : .delivered())
        }
        // Every third gets a second version, every tenth a retraction.
        _ = try await store.put(
            try stride(from: 0, to: samples, by: 3).map {
                .sample(try sample("k\($0)", 60.5 + Double($0 % 30), at: Int64($0) * 60, version: 2))
            })
        for number in stride(from: 0, to: samples, by: samples / 10) {
            _ = try await store.retract(try sample("k\(number)"), version: 3, reason: "mistaken")
        }
        _ = try await store.put(try (10...28).map { .day(try day("2026-02-\($0)", 70 + Double($0) / 10)) })
        let raw = IntakeRecord(
            record: .sample(try sample("raw")), assignment: owner, rawPayload: [UInt8](repeating: 7, count: 20_000))
        _ = try await store.commit([IntakeBatch(instance: "other", records: [raw])], recordedAt: 3)
        let head = store.head
        try store.close()
        return head
    }

    private func all(_ path: String) async throws -> [Int64: StoredRecord] {
        let store = try Store(path: path, now: 9)
        defer { try? store.close() }
        let query = RecordQuery { $0.kinds = KindSelection(Set(RecordKind.allCases), followsChanges: false) }
        return Dictionary(uniqueKeysWithValues: try await store.all(query).records.map { ($0.number, $0) })
    }

    /// Changes a byte of each of these pages.
    private func damage(_ pages: [Int]) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.store))
        defer { try? file.close() }
        for page in pages {
            let place = UInt64((page - 1) * 4_096 + 2_000)
            try file.seek(toOffset: place)
            let byte = try #require(try file.read(upToCount: 1)?.first)
            try file.seek(toOffset: place)
            try file.write(contentsOf: Data([byte ^ 0x55]))
        }
    }

    /// The pages of a table's tree without its root.
    private func pages(of table: String, _ kind: String) throws -> [Int] {
        try DatabaseQueue(path: folder.store).read { db in
            try Int.fetchAll(
                db, sql: "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? AND path <> '/' ORDER BY pageno",
                arguments: [table, kind])
        }
    }

    /// Checks that no salvaged record has changed, that each missing record was unreadable, and that the new store
    /// works.
    private func judge(_ report: SalvageReport, _ before: [Int64: StoredRecord], head: Int64) async throws {
        let after = try await all(target)
        #expect(after.allSatisfy { before[$0.key] == $0.value }, "a salvaged record differs from the original")
        let lost = Set(before.keys).subtracting(after.keys)
        #expect(report.lostRecords == Int64(lost.count))
        #expect(report.store?.records == Int64(after.count) && report.store?.head == head)
        // The damaged store cannot return any of the missing records.
        let damaged = StoreFile(folder.store)
        for number in lost {
            let error = await failure { _ = try damaged.record(number) }
            #expect(error?.code == .corrupt, "record \(number) is intact, but was left out")
        }
        // The salvaged store can replace the damaged one and be used.
        _ = try StoreRestore(of: target, to: folder.store).carryOut(keepingAs: "damaged")
        let store = try folder.open()
        #expect(try await store.verifyAccounts() == [])
        #expect(try await store.put(try sample("later"))[0].placement?.sequence ?? 0 > head)
        #expect(try await store.verifyAccounts() == [])
        try store.close()
    }

    @Test func `a salvage of an intact store copies all records and loses none`() async throws {
        let head = try await fill(samples: 1_000)
        let before = try await all(folder.store)
        let summary = try StoreFile(folder.store).summary()
        let report = try StoreSalvage(folder.store).carryOut(to: target, now: 5)
        #expect(
            report.damage == [] && report.unreadable.isEmpty && report.topics == [] && report.lostVersions == 0,
            "\(report)")
        #expect(report.store?.newest == summary.newest && report.store?.hub == summary.hub)
        try await judge(report, before, head: head)
    }

    @Test func `records removed by a restore are not reported as lost`() async throws {
        _ = try await fill(samples: 1_000)
        let backup = folder.path + "/backup.sqlite"
        _ = try StoreFile(folder.store).backUp(to: backup)
        let store = try folder.open()
        _ = try await store.put(try (0..<20).map { .sample(try sample("later\($0)")) })
        try store.close()
        _ = try StoreRestore(of: backup, to: folder.store).carryOut(keepingAs: "replaced")
        let report = try StoreSalvage(folder.store).carryOut(to: nil, now: 5)
        #expect(report.lostVersions == 0 && report.lostSequences == [], "\(report)")
    }

    @Test(arguments: Thoroughness.some([1, 2, 3, 4, 5, 6] as [UInt64]))
    func `a salvage of a store with damaged pages copies all intact records`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let head = try await fill(samples: 1_000)
        let before = try await all(folder.store)
        let kinds = ["sample", "sample_version", "day", "sample_identity", "sample_history", "payload"]
        var damaged: [Int] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let table = try #require(kinds.randomElement(using: &random))
            if let page = try pages(of: table, "leaf").randomElement(using: &random) { damaged.append(page) }
        }
        try damage(Array(Set(damaged)))
        let report = try StoreSalvage(folder.store).carryOut(to: target, now: 5)
        #expect(report.damage.count == Set(damaged).count)
        try await judge(report, before, head: head)
    }

    @Test func `a damaged page high in a table hides only the rows below it`() async throws {
        // Two records per page, so that few records make a tree with a page between root and leaves.
        let head = try await fill(samples: 2_000, note: String(repeating: "x", count: 1_500))
        let before = try await all(folder.store)
        try damage([try #require(try pages(of: "sample", "internal").first)])
        let report = try StoreSalvage(folder.store).carryOut(to: target, now: 5)
        #expect(report.unreadable["sample"] != nil && report.lostRecords > 500 && report.lostRecords < 2_000)
        let topic = try #require(report.topics.first)
        #expect(topic.type == "weight" && topic.person == "me" && topic.label == "ihealth-hs3")
        #expect(report.lostSequences.reduce(0) { $0 + Int64($1.count) } == report.lostVersions)
        try await judge(report, before, head: head)
    }

    @Test func `a sink whose filter is lost starts over, and the report names it`() async throws {
        let head = try await fill(samples: 1_000)
        let before = try await all(folder.store)
        let root = try await DatabaseQueue(path: folder.store).read {
            try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'sink_era'")
        }
        try damage([try #require(root)])
        let report = try StoreSalvage(folder.store).carryOut(to: target, now: 5)
        #expect(report.lostSinks == ["\(exporter)"] && report.lostRecords == 0)
        try await judge(report, before, head: head)
    }

    @Test func `records removed by a rule or erased are not reported as lost and do not come back`() async throws {
        let store = try folder.open()
        let owner = try await store.me()
        let day = 86_400 as Int64
        _ = try await store.put(try (0..<400).map { .sample(try sample("k\($0)", 70, at: Int64($0) * day / 4)) }, owner)
        try await store.erase([50, 390], removingCopies: false)
        let rule = RetentionRule(name: "old", types: [.weight], removeAfter: 30)
        let removed = try await store.retain(rule, now: 100 * day * 1_000_000, thin: { _ in nil }) { true }.removed
        #expect(removed > 200)
        _ = try await store.put(try sample("last", at: 101 * day))
        let head = store.head
        try store.close()
        let before = try await all(folder.store)
        try damage([try #require(try pages(of: "sample", "leaf").last)])
        let report = try StoreSalvage(folder.store).carryOut(to: target, now: 5)
        #expect(report.lostRecords > 0 && report.lostRecords < 150 && report.lostVersions < 150, "\(report)")
        #expect(report.topics.reduce(0) { $0 + $1.lost } <= report.lostVersions)
        try await judge(report, before, head: head)
        let salvaged = try folder.open()
        #expect(try await salvaged.put(try sample("k0"), try sample("k49", at: 49 * day / 4)).allSatisfy(\.isDuplicate))
    }

    @Test func `unreadable pending deliveries are counted for their sink`() async throws {
        let head = try await fill(samples: 1_000)
        let before = try await all(folder.store)
        let store = try folder.open()
        let open = try await store.sink(exporter).account
        try store.close()
        let root = try await DatabaseQueue(path: folder.store).read {
            try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'delivery'")
        }
        try damage([try #require(root)])
        let report = try StoreSalvage(folder.store).carryOut(to: target, now: 5)
        #expect(report.lostRecords == 0 && report.unreadable["delivery"] != nil)
        #expect(report.lostDeliveries == (open.retrying > 0 ? ["\(exporter)": open.retrying] : [:]))
        #expect(open.retrying > 0)
        try await judge(report, before, head: head)
    }

    @Test func `an erased record stays erased if its row is lost, and the report warns of records that may come back`()
        async throws
    {
        let head = try await fill(samples: 1_000) + 1
        var store = try folder.open()
        try await store.erase([7], removingCopies: false)
        try store.close()
        let before = try await all(folder.store)
        let root = try await DatabaseQueue(path: folder.store).read {
            try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'erased'")
        }
        try damage([try #require(root)])
        let report = try StoreSalvage(folder.store).carryOut(to: target, now: 5)
        #expect(report.hasLostErasures && report.lostRecords == 0)
        try await judge(report, before, head: head)
        store = try folder.open()
        let plan = try await store.planErasure(of: .numbers([7]))
        #expect(plan.unknown == [7], "the record counts as erased")
    }

    @Test func `a salvage creates no file if the first page is damaged, if the target exists, or in a dry run`()
        async throws
    {
        _ = try await fill(samples: 1_000)
        let report = try StoreSalvage(folder.store).carryOut(to: nil, now: 5)
        #expect(report.store?.records == 1_020)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.contains("salvag") })
        try Data().write(to: URL(fileURLWithPath: target))
        #expect(await failure { _ = try StoreSalvage(folder.store).carryOut(to: target, now: 5) }?.code == .exists)
        try damage([1])
        let error = await failure { _ = try StoreSalvage(folder.store).carryOut(to: nil, now: 5) }
        #expect(
            error?.code == .corrupt && error?.message.contains("page 1 of ") == true, "\(String(describing: error))")
    }
}

extension StoreFile {
    /// Whether the damaged store can return the record.
    fileprivate func record(_ number: Int64) throws -> Bool {
        do {
            return try DatabaseQueue(path: path).read { db in
                try Row.fetchOne(db, sql: "SELECT * FROM sample WHERE number = ?", arguments: [number]) != nil
                    || Row.fetchOne(db, sql: "SELECT * FROM day WHERE number = ?", arguments: [number]) != nil
            }
        } catch { throw StoreError(error, doing: "read") }
    }
}
