import GRDB
import Samples

/// The columns of `day` in the order in which this module reads and binds them.
enum DayColumn: Int32, CaseIterable {
    case number, seq, person, type, series, date, source, value, unit, originalValue, originalUnit, method, observedOn,
        age
    case basis, zone, metadata, extra, recordedAt, retracted, retractionReason, retractionVersion

    var parameter: Int32 { rawValue + 1 }

    static let names = allCases.map { column in snakeCase("\(column)") }
    static let list = names.joined(separator: ", ")
}

/// A row of `day` or `day_version` as a value.
///
/// The day's person is given by name.
struct DayRow {
    var number: Int64
    var sequence: Int64
    var day: DayValue
    var person: Person
    var canonical: StoredRecord.CanonicalValue?
    var retraction: Retraction?
    var recordedAt: Int64
    var personID: Int64
    var typeID: Int64

    /// Whether its value was removed because it was computed from an erased record.
    var isErased: Bool { day.method == DayRow.erasedMethod }

    /// The published record: the day's value, or its retraction.
    var stored: StoredRecord {
        StoredRecord(
            record: retraction.map(Record.retraction) ?? .day(day), number: number, sequence: sequence,
            assignment: .person(person), type: day.type, canonical: retraction == nil ? canonical : nil)
    }

    /// The record for followers whose query it no longer matches: a retraction, as if it were retracted.
    var ceased: StoredRecord {
        var row = self
        row.retraction =
            retraction
            ?? Retraction(
                identity: .day(person: person.name, type: day.type, series: day.series, date: day.date),
                source: day.source, author: .source, reason: Filter.ceased, sourceVersion: nil)
        return row.stored
    }

    /// The result of a record that changes nothing.
    var duplicate: StoreResult { .duplicate(number: number, sequence: sequence) }

    var facts: VersionProperties {
        VersionProperties(
            sequence: sequence, type: typeID, person: personID, kind: VersionProperties.day,
            isRetraction: retraction != nil)
    }

    init(_ row: RawStatement, _ termCache: TermCache, _ db: Database) throws {
        func required(_ column: DayColumn) -> Int64 { row.integer(column.rawValue) }
        func integer(_ column: DayColumn) -> Int64? { row.optionalInteger(column.rawValue) }
        func term(_ column: DayColumn) throws -> String? { try integer(column).map { try termCache.term($0, in: db) } }
        func text(_ column: DayColumn) -> String? { row.text(column.rawValue) }

        number = required(.number)
        sequence = required(.seq)
        recordedAt = required(.recordedAt)
        personID = required(.person)
        typeID = required(.type)
        person = try termCache.person(personID, in: db)
        var value = row.double(DayColumn.value.rawValue)
        var unit = try term(.unit) ?? ""
        if let original = try term(.originalUnit) {
            canonical = StoredRecord.CanonicalValue(value: value, unit: unit)
            value = row.double(DayColumn.originalValue.rawValue)
            unit = original
        }
        guard let basis = LineListCoding.basis(text(.basis)) else {
            throw StoreError(.corrupt, "read record \(number): its basis is malformed; restore a backup")
        }
        day = DayValue(
            source: try termCache.source(required(.source), in: db), person: person.name,
            type: try termCache.type(typeID, in: db),
            series: try term(.series) ?? "", date: LocalDate(daysSinceEpoch: Int(required(.date))), value: value,
            unit: unit,
            method: try term(.method) ?? "",
            observedOn: integer(.observedOn).map { LocalDate(daysSinceEpoch: Int($0)) },
            age: integer(.age).map(Int.init), basis: basis, zone: try term(.zone),
            metadata: text(.metadata).map { JSONObject(trusted: $0) },
            extra: text(.extra).map { JSONObject(trusted: $0) })
        if let retracted = integer(.retracted) {
            retraction = Retraction(
                identity: .day(person: person.name, type: day.type, series: day.series, date: day.date),
                source: day.source,
                author: retracted == 2 ? .person : .source, reason: text(.retractionReason),
                sourceVersion: integer(.retractionVersion))
        } else if isErased {
            retraction = Retraction(
                identity: .day(person: person.name, type: day.type, series: day.series, date: day.date),
                source: day.source, author: .source, reason: Tombstones.reason, sourceVersion: nil)
        }
    }
}

extension DayRow {
    /// Inserts a day, or nothing if its identity is known.
    static let insert = """
        INSERT INTO day (\(DayColumn.list)) VALUES (\(DayColumn.allCases.map { "?\($0.parameter)" }.joined(separator: ", ")))
        ON CONFLICT (person, type, series, date) DO NOTHING
        """
    static let replace: String = {
        let assignments = DayColumn.allCases.dropFirst().map {
            "\(DayColumn.names[Int($0.rawValue)]) = ?\($0.parameter)"
        }
        return "UPDATE day SET \(assignments.joined(separator: ", ")) WHERE number = ?1"
    }()
    static let archive =
        "INSERT INTO day_version (\(DayColumn.list)) SELECT \(DayColumn.list) FROM day WHERE number = ?1"
    /// `?7` is the source of the retraction, which may differ from the source of the day.
    static let retract = """
        UPDATE day SET seq = ?2, retracted = ?3, retraction_reason = ?4, retraction_version = ?5, recorded_at = ?6,
            source = ifnull(?7, source)
        WHERE number = ?1
        """

    /// The ids that a day's row refers to.
    struct References {
        var source: Int64
        var type: Int64
        var person: Int64
        var series: Int64
    }

    /// Binds the columns of a version for `insert` or `replace`; unbound columns are NULL.
    static func bind(
        _ day: DayValue, canonical: StoredRecord.CanonicalValue?, number: Int64, sequence: Int64,
        _ references: References,
        recordedAt: Int64, to row: RawStatement, _ caches: inout WriterCaches, _ db: Database
    ) throws {
        func set(_ column: DayColumn, _ value: Int64?) { row.bind(column.parameter, value) }
        func set(_ column: DayColumn, _ value: String?) { row.bind(column.parameter, value) }
        set(.number, number)
        set(.seq, sequence)
        set(.person, references.person)
        set(.type, references.type)
        set(.series, references.series)
        set(.date, Int64(day.date.daysSinceEpoch))
        set(.source, references.source)
        row.bind(DayColumn.value.parameter, canonical?.value ?? day.value)
        set(.unit, try caches.term(canonical?.unit ?? day.unit, .unit, in: db))
        if canonical != nil {
            row.bind(DayColumn.originalValue.parameter, day.value)
            set(.originalUnit, try caches.term(day.unit, .originalUnit, in: db))
        }
        set(.method, try caches.term(day.method, .method, in: db))
        set(.observedOn, day.observedOn.map { Int64($0.daysSinceEpoch) })
        set(.age, day.age.map(Int64.init))
        set(.basis, LineListCoding.text(day.basis))
        if let zone = day.zone { set(.zone, try caches.term(zone, .zone, in: db)) }
        set(.metadata, day.metadata?.text)
        set(.extra, day.extra?.text)
        set(.recordedAt, recordedAt)
    }
}
