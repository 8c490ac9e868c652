import Foundation
import HubStore
import HubWire
import Samples
import Testing

/// A folder that is removed with the test.
final class Folder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "hub-store-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var store: String { path + "/hub.sqlite" }

    func open(now: Int64 = 1_000) throws -> Store { try Store(path: store, now: now) }

    /// The files of a store except its lock.
    static let files = ["", "-wal", ".sequences"]

    /// A copy of the files as a kill of the hub would leave them now: with all writes, flushed or not.
    func killed() throws -> Folder {
        let left = try Folder()
        for file in Folder.files where FileManager.default.fileExists(atPath: store + file) {
            try FileManager.default.copyItem(atPath: store + file, toPath: left.store + file)
        }
        return left
    }
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
    @discardableResult
    func put(_ records: [Record], _ assignment: Assignment? = nil, instance: String = "scale") async throws
        -> [StoreResult]
    {
        let owner: Assignment
        if let assignment { owner = assignment } else { owner = try await me() }
        let batch = IntakeBatch(
            instance: instance, records: records.map { IntakeRecord(record: $0, assignment: owner) })
        return try #require(try await commit([batch], recordedAt: 2).first)
    }

    func put(_ samples: Sample...) async throws -> [StoreResult] { try await put(samples.map(Record.sample)) }

    func retract(_ sample: Sample, version: Int64? = nil, reason: String? = nil) async throws -> StoreResult {
        let retraction = Retraction(
            identity: .sample(sample.source, sample.key), source: sample.source, reason: reason, sourceVersion: version)
        return try #require(try await put([.retraction(retraction)]).first)
    }

    /// Retracts records by hand.
    func retract(numbers: [Int64], reason: String? = nil, recordedAt: Int64) async throws -> [StoreResult] {
        try await carryOut(.retract(numbers: numbers, reason: reason), recordedAt: recordedAt).map(\.result)
    }

    /// The records of all pages of a query, and the cursor of the first page.
    func all(_ query: RecordQuery) async throws -> (records: [StoredRecord], cursor: Samples.Cursor) {
        var query = query
        var page = try await page(query)
        let cursor = page.cursor
        var records = page.records
        while let next = page.next {
            query.next = next
            page = try await self.page(query)
            #expect(page.cursor == cursor)
            records += page.records
        }
        return (records, cursor)
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
