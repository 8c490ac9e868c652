import GRDB
public import HealthExports
import Samples

/// One SQLite file with records, for Datasette and other programs.
///
/// Records are numbered in the order in which they are written.
///
/// Use it from one thread. It does not flush the file; the caller does that before renaming it.
public final class RecordDatabase {
    /// An SQLite error.
    public struct SQLiteError: Error, CustomStringConvertible { public let description: String }

    public private(set) var account = ExportSummary()
    private let queue: DatabaseQueue
    /// Time zones of persons, by name.
    private let zones: [String: String]
    private var waiting: [ExportItem] = []
    private var people: [String: Int64] = [:]
    private var sources: [Source: Int64] = [:]
    private var types: Set<TypeID> = []
    private var (records, days): (Int64, Int64) = (0, 0)
    /// The number of records written at a time.
    private static let piece = 1_000

    /// - Parameters:
    ///   - path: an empty or missing file.
    ///   - zones: time zones of persons, by name, for records without zone and offset.
    /// - Throws: ``SQLiteError``.
    public init(_ path: String, zones: [String: String] = [:]) throws {
        self.zones = zones
        var configuration = Configuration()
        configuration.label = "RecordDatabase"
        configuration.prepareDatabase { db in
            // No rollback is needed, because an incomplete file is never renamed to its final name.
            try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000")
        }
        let made = try RecordDatabase.translated {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.write { db in
                try db.execute(sql: RecordDatabaseSchema.tables)
                try db.execute(
                    sql:
                        "INSERT INTO about VALUES ('format', 'health-hub export 1'), ('documentation', 'Docs/Exports.md')"
                )
            }
            return queue
        }
        queue = made
    }

    /// Adds the next records.
    /// - Throws: ``SQLiteError``.
    public func write(_ items: [ExportItem]) throws {
        waiting += items
        if waiting.count >= RecordDatabase.piece { try flush() }
    }

    /// Writes the remaining records, the indices and the views, and closes the file.
    /// - Throws: ``SQLiteError``.
    public func finish() throws {
        try flush()
        try RecordDatabase.translated {
            try queue.write { db in
                try db.execute(sql: RecordDatabaseSchema.indices + RecordDatabaseSchema.views)
            }
            try queue.close()
        }
    }

    private func flush() throws {
        let items = waiting
        waiting.removeAll(keepingCapacity: true)
        try RecordDatabase.translated {
            try queue.write { db in for item in items { try insert(item.record, db) } }
        }
    }

    private static func translated<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as DatabaseError {
            throw SQLiteError(description: "writing the database failed: \(error.message ?? "") (\(error.resultCode))")
        }
    }

    // MARK: - Rows

    private func insert(_ stored: StoredRecord, _ db: Database) throws {
        try declare(stored, db)
        let person = try stored.assignment.person.map { try id(of: $0.name, db) }
        switch stored.record {
        case .sample(let sample): try insert(sample, stored, person, db)
        case .day(let day): try insert(day, stored, person, db)
        case .retraction: return account.leaveOut("retractions")
        }
        account.written += 1
    }

    private func insert(_ sample: Sample, _ stored: StoredRecord, _ person: Int64?, _ db: Database) throws {
        records += 1
        var (value, unit, text, raw): (Double?, String?, String?, Int64?)
        switch sample.value {
        case .quantity(let number, let own):
            (value, unit) = (stored.canonical?.value ?? number, stored.canonical?.unit ?? own)
        case .category(let name, let number), .workout(let name, let number): (text, raw) = (name, number)
        case .correlation: break
        case .characteristic(let fact, let number): (text, raw) = (fact, number)
        case .other(let words): text = words
        }
        let original = stored.canonical == nil ? nil : sample.value.quantity
        let seconds =
            sample.workoutDuration ?? Double(sample.end.microseconds - sample.start.microseconds) / 1_000_000
        let clock = LocalDay.clock(
            of: sample.start, sampleZone: sample.zone,
            personZone: stored.assignment.person.flatMap { zones[$0.name] } ?? "GMT")
        let row: [(any DatabaseValueConvertible)?] = [
            records, sample.value.kind.rawValue, sample.type.rawValue, person, value, unit, text, raw,
            sample.start.text, sample.end.text, clock?.date.text, clock?.time, sample.start.microseconds, seconds,
            sample.zone,
            try id(of: sample.source, db), sample.key.text, sample.group, sample.provenance.word, original?.value,
            original?.unit, stored.edited.isEmpty ? 0 : 1, stored.implausible.isEmpty ? 0 : 1,
            stored.mirrors.isEmpty ? 0 : 1, sample.sourceVersion, sample.metadata?.text, sample.extra?.text,
        ]
        try RecordDatabase.insert(into: "records", row, db)
        for total in sample.workout?.totals ?? [] {
            let type = TypeRegistry.standard.type(total.type)
            let converted = try? type?.canonicalValue(total.value, unit: total.unit)
            let row: [(any DatabaseValueConvertible)?] = [
                records, total.type.rawValue, total.statistic.rawValue, converted ?? total.value,
                converted == nil ? total.unit : type?.unit,
            ]
            try RecordDatabase.insert(into: "workout_totals", row, db)
        }
        for point in sample.route ?? [] {
            let row: [(any DatabaseValueConvertible)?] = [
                records, point.time.text, point.latitude, point.longitude, point.altitude, point.speed, point.course,
                point.horizontalAccuracy, point.verticalAccuracy,
            ]
            try RecordDatabase.insert(into: "route_points", row, db)
        }
    }

    private func insert(_ day: DayValue, _ stored: StoredRecord, _ person: Int64?, _ db: Database) throws {
        days += 1
        let row: [(any DatabaseValueConvertible)?] = [
            days, day.type.rawValue, person, day.date.text, stored.canonical?.value ?? day.value,
            stored.canonical?.unit ?? day.unit, day.series, day.method, day.observedOn?.text, day.age,
            try id(of: day.source, db), day.metadata?.text,
        ]
        try RecordDatabase.insert(into: "day_values", row, db)
    }

    private static func insert(
        into table: String, _ row: [(any DatabaseValueConvertible)?], _ db: Database
    ) throws {
        let places = row.map { _ in "?" }.joined(separator: ",")
        try db.cachedStatement(sql: "INSERT INTO \(table) VALUES (\(places))").execute(
            arguments: StatementArguments(row))
    }

    private func id(of person: String, _ db: Database) throws -> Int64 {
        if let known = people[person] { return known }
        let id = Int64(people.count + 1)
        try RecordDatabase.insert(into: "people", [id, person], db)
        people[person] = id
        return id
    }

    private func id(of source: Source, _ db: Database) throws -> Int64 {
        if let known = sources[source] { return known }
        let id = Int64(sources.count + 1)
        let name = [source.plugin, source.device, source.account].compactMap(\.self).joined(separator: " ")
        try RecordDatabase.insert(into: "sources", [id, source.plugin, source.device, source.account, name], db)
        sources[source] = id
        return id
    }

    private func declare(_ stored: StoredRecord, _ db: Database) throws {
        guard types.insert(stored.type).inserted else { return }
        let type = TypeRegistry.standard.type(stored.type)
        var kind = "quantity"
        if case .sample(let sample) = stored.record { kind = sample.value.kind.rawValue }
        try RecordDatabase.insert(
            into: "types",
            [
                stored.type.rawValue, type?.displayName ?? stored.type.rawValue, type?.kind.rawValue ?? kind,
                type?.unit,
                type?.aliases.loinc.first, type?.aliases.healthKit.first,
            ], db)
    }
}

extension SampleValue {
    fileprivate var quantity: (value: Double, unit: String)? {
        if case .quantity(let value, let unit) = self { (value, unit) } else { nil }
    }
}
