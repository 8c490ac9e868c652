import Foundation
import GRDB
import HubProcess
import HubWire
import Samples
import Testing

@testable import HubStore

extension TemporaryFolder {
    var store: String { path + "/hub.sqlite" }

    func open(now: Int64 = 1_000) throws -> Store { try Store(path: store, now: now) }

    /// A copy of the files as a kill of the hub would leave them now: with all writes, flushed or not.
    func killed() throws -> TemporaryFolder {
        let left = try TemporaryFolder()
        for file in ["", "-wal", ".sequences"] where FileManager.default.fileExists(atPath: store + file) {
            try FileManager.default.copyItem(atPath: store + file, toPath: left.store + file)
        }
        return left
    }

    /// Changes the file of a closed store as another program or an earlier hub does.
    func change(_ sql: String, of path: String? = nil) throws {
        let queue = try DatabaseQueue(path: path ?? store)
        try queue.write { db in try db.execute(sql: sql) }
        try queue.close()
    }

    /// Makes a store of an earlier format with these rows.
    func makeOld(_ steps: [String] = [StoreSchema.version1], at path: String? = nil, rows: String) throws {
        var migrator = DatabaseMigrator()
        for (place, step) in steps.enumerated() {
            migrator.registerMigration("v\(place + 1)") { db in try db.execute(sql: step) }
        }
        let queue = try DatabaseQueue(path: path ?? store)
        try migrator.migrate(queue)
        try queue.close()
        try change("PRAGMA application_id = \(StoreSchema.applicationID);\n" + rows, of: path)
    }

    /// Overwrites pages of the store's file, the first of which has number 0.
    func overwrite(_ pages: some Sequence<UInt64>, of path: String? = nil) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path ?? store))
        for page in pages {
            try file.seek(toOffset: page * 4_096)
            try file.write(contentsOf: Data(repeating: 0xA5, count: 4_096))
        }
        try file.close()
    }
}

/// A new store in a new folder.
func newStore() throws -> (folder: TemporaryFolder, store: Store) {
    let folder = try TemporaryFolder()
    return (folder, try folder.open())
}

func type(_ name: String) throws -> TypeID { try TypeID(name) }

let scale = Source(plugin: "ihealth-hs3", device: "00:4D:32:1A:2B:3C")

func sample(
    _ key: String, _ value: Double = 70, type name: String = "weight", source: Source = scale, at second: Int64 = 0,
    lasting seconds: Int64 = 0, group: String? = nil, version: Int64? = nil
) throws -> Sample {
    Sample(
        source: source, key: try #require(RecordKey(key)), type: try type(name), value: .quantity(value, unit: "kg"),
        start: Timestamp(microseconds: second * 1_000_000, offsetMinutes: 60),
        end: Timestamp(microseconds: (second + seconds) * 1_000_000, offsetMinutes: 60), group: group,
        sourceVersion: version)
}

func day(_ date: String, _ value: Double, person: String = "me", series: String = "mean30") throws -> DayValue {
    DayValue(
        source: Source(plugin: "gap-filler"), person: person, type: try type("weight"), series: series,
        date: try #require(LocalDate(date)), value: value, unit: "kg", method: "mean", basis: [.number(1)])
}

extension Store {
    func me() async throws -> Assignment { .person(try #require(try await ensurePersons(["me"], recordedAt: 1).first)) }

    /// Commits records of one instance with the same assignment.
    @discardableResult func put(
        _ records: [Samples.Record], _ assignment: Assignment? = nil, instance: String = "scale"
    ) async throws -> [StoreResult] {
        let owner = if let assignment { assignment } else { try await me() }
        let batch = IntakeBatch(
            instance: instance, records: records.map { IntakeRecord(record: $0, assignment: owner) })
        return try #require(try await commit([batch], recordedAt: 2).first)
    }

    func put(_ samples: Sample...) async throws -> [StoreResult] { try await put(samples.map(Samples.Record.sample)) }

    func retract(_ sample: Sample, version: Int64? = nil, reason: String? = nil) async throws -> StoreResult {
        let retraction = Retraction(
            identity: .sample(sample.source, sample.key), source: sample.source, reason: reason, sourceVersion: version)
        return try #require(try await put([.retraction(retraction)]).first)
    }

    /// Retracts records by hand.
    func retract(numbers: [Int64], reason: String? = nil, recordedAt: Int64) async throws -> [StoreResult] {
        try await carryOut(.retract(numbers: numbers, reason: reason), recordedAt: recordedAt).map(\.result)
    }

    /// Erases what has been chosen.
    func finishErasing(recordedAt: Int64 = 9, _ note: Comment? = nil) async throws {
        while try await !carryOut(.eraseNext, recordedAt: recordedAt).isEmpty {}
        #expect(try await finishErasure(), note)
    }

    /// Erases records by hand.
    func erase(_ numbers: [Int64], removingCopies: Bool = true) async throws {
        _ = try await beginErasure(of: .numbers(numbers), removingCopies: removingCopies)
        try await finishErasing()
    }

    /// The values of all days.
    func days() async throws -> [DayValue] {
        let query = RecordQuery { $0.kinds = KindSelection([.day], followsChanges: false) }
        return try await all(query).records.compactMap(\.record.day)
    }

    /// The records of all pages of a query, and the cursor of the first page.
    func all(_ query: RecordQuery, within limit: PageTimeLimit = .usual) async throws -> (
        records: [StoredRecord], cursor: Samples.Cursor
    ) {
        var query = query
        var page = try await page(query, within: limit)
        let cursor = page.cursor
        var records = page.records
        while let next = page.next {
            #expect(page.records.count <= query.limit)
            query.next = next
            page = try await self.page(query, within: limit)
            #expect(page.cursor == cursor)
            records += page.records
        }
        return (records, cursor)
    }
}

extension Samples.Record {
    var sample: Sample? { if case .sample(let sample) = self { sample } else { nil } }
    var day: DayValue? { if case .day(let day) = self { day } else { nil } }
    var retraction: Retraction? { if case .retraction(let retraction) = self { retraction } else { nil } }
}

extension RecordQuery {
    init(_ change: (inout RecordQuery) throws -> Void) rethrows {
        self.init()
        try change(&self)
    }
}

extension StoreResult {
    var placement: Placement? { if case .stored(let placement) = self { placement } else { nil } }
    var code: String? { if case .rejected(let rejection) = self { rejection.code.rawValue } else { nil } }
    var isDuplicate: Bool { if case .duplicate = self { true } else { false } }
}

/// The error that `body` throws.
func failure(of body: () async throws -> Void) async -> StoreError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? StoreError
    }
}
