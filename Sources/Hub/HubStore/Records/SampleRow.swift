import GRDB
import Samples

/// The columns of `sample` in the order in which this module reads and binds them.
enum SampleColumn: Int32, CaseIterable {
    case number, seq, source, key, type, kind, person, unassigned, start, duration, startOffset, endOffset, zone, value,
        unit
    case originalValue, originalUnit, name, raw, content, subject, grouping, provenance, method, methodVersion, basis,
        metadata
    case sourceVersion, origin, extra, recordedAt, retracted, retractionReason, retractionVersion
    case assigned, edited, profileOf, implausible, sharedMetadata

    var parameter: Int32 { rawValue + 1 }

    static let names = allCases.map { column in snakeCase("\(column)") }
    /// All names, as an SQL list.
    static let list = names.joined(separator: ", ")
}

/// `startOffset` as `start_offset`.
func snakeCase(_ name: String) -> String {
    var text = ""
    for character in name { text += character.isUppercase ? "_" + character.lowercased() : String(character) }
    return text
}

/// A row of `sample` or `sample_version` as a value.
struct SampleRow {
    var number: Int64
    var sequence: Int64
    var sample: Sample
    var assignment: Assignment
    var canonical: StoredRecord.CanonicalValue?
    var retraction: Retraction?
    var recordedAt: Int64
    var personID: Int64
    var typeID: Int64
    /// Whether a person, not a rule, assigned it.
    var isAssignedByHand: Bool
    /// The members of the source's content that a person has changed.
    var edited: SampleMembers
    /// Its implausible members.
    var implausible: SampleMembers
    /// The person whose profile the device used, stored at the first manual assignment; published if the record's person differs.
    var profileOf: String?

    /// Whether a manual change hides the source's content.
    var isUnderHand: Bool { !edited.isEmpty || retraction?.author == .person }

    /// The published record: the sample, or its retraction.
    var stored: StoredRecord {
        if let retraction {
            StoredRecord(
                record: .retraction(retraction), number: number, sequence: sequence, assignment: assignment,
                type: sample.type)
        } else {
            StoredRecord(
                record: .sample(shown), number: number, sequence: sequence, assignment: assignment, type: sample.type,
                canonical: canonical, edited: edited, implausible: implausible)
        }
    }

    /// The record for followers whose query it no longer matches: a retraction, as if it were retracted.
    var ceased: StoredRecord {
        var row = self
        if retraction == nil {
            row.retract(
                by: isUnderHand || isAssignedByHand ? .person : .source, reason: Filter.ceased, version: nil)
        }
        return row.stored
    }

    /// The sample with the hub's note about its value.
    private var shown: Sample {
        guard let profileOf, profileOf != assignment.person?.name else { return sample }
        var shown = sample
        shown.metadata = BodyProfile.marked(sample.metadata, with: profileOf)
        return shown
    }

    /// The result of a record that changes nothing.
    var duplicate: StoreResult { .duplicate(number: number, sequence: sequence) }

    var facts: VersionProperties {
        VersionProperties(
            sequence: sequence, type: typeID, person: personID, kind: sample.value.kind.code,
            isRetraction: retraction != nil)
    }

    /// The minimum version for a put from the source.
    var versionFloor: Int64? { retraction?.sourceVersion ?? sample.sourceVersion }

    init(_ row: RawStatement, _ termCache: TermCache, _ db: Database) throws {
        func integer(_ column: SampleColumn) -> Int64? { row.optionalInteger(column.rawValue) }
        func term(_ column: SampleColumn) throws -> String? {
            try integer(column).map { try termCache.term($0, in: db) }
        }
        func text(_ column: SampleColumn) -> String? { row.text(column.rawValue) }

        number = row.integer(SampleColumn.number.rawValue)
        sequence = row.integer(SampleColumn.seq.rawValue)
        recordedAt = row.integer(SampleColumn.recordedAt.rawValue)
        personID = row.integer(SampleColumn.person.rawValue)
        typeID = row.integer(SampleColumn.type.rawValue)
        assignment =
            personID == 0
            ? .nobody(reason: try term(.unassigned) ?? "") : .person(try termCache.person(personID, in: db))
        isAssignedByHand = integer(.assigned) != nil
        edited = SampleMembers(rawValue: UInt8(truncatingIfNeeded: integer(.edited) ?? 0))
        implausible = SampleMembers(rawValue: UInt8(truncatingIfNeeded: integer(.implausible) ?? 0))
        profileOf = try term(.profileOf)
        guard let key = text(.key).map(RecordKey.init(trusted:)) else { throw SampleRow.damaged(number, "key") }

        let value: SampleValue
        let name = try term(.name)
        switch (SampleKind(code: integer(.kind)), name, integer(.raw)) {
        case (.quantity, _, _):
            let number = row.double(SampleColumn.value.rawValue)
            let unit = try term(.unit) ?? ""
            if let original = try term(.originalUnit) {
                value = .quantity(row.double(SampleColumn.originalValue.rawValue), unit: original)
                canonical = StoredRecord.CanonicalValue(value: number, unit: unit)
            } else {
                value = .quantity(number, unit: unit)
            }
        case (.category, let name?, let raw?): value = .category(name: name, raw: raw)
        case (.correlation, _, _): value = .correlation
        case (.workout, let name?, let raw?): value = .workout(activity: name, raw: raw)
        case (.characteristic, _, let raw): value = .characteristic(text(.content) ?? "", raw: raw)
        case (.other, _, _): value = .other(text(.content))
        default: throw SampleRow.damaged(number, "value")
        }

        let provenance: Provenance
        switch integer(.provenance) {
        case 0: provenance = .measured
        case let kind:
            guard let basis = LineListCoding.basis(text(.basis)) else { throw SampleRow.damaged(number, "basis") }
            let method = try term(.method) ?? ""
            provenance =
                kind == 1
                ? .derived(formula: method, version: try term(.methodVersion) ?? "", basis: basis)
                : .filled(method: method, basis: basis)
        }
        var subject: Subject?
        if let text = text(.subject) {
            subject = LineListCoding.subject(text)
            if subject == nil { throw SampleRow.damaged(number, "subject") }
        }
        let start = row.integer(SampleColumn.start.rawValue)
        let end = start &+ row.integer(SampleColumn.duration.rawValue)
        sample = Sample(
            source: try termCache.source(row.integer(SampleColumn.source.rawValue), in: db), key: key,
            type: try termCache.type(typeID, in: db), value: value,
            start: Timestamp(microseconds: start, offsetMinutes: integer(.startOffset).flatMap(Int16.init(exactly:))),
            end: Timestamp(microseconds: end, offsetMinutes: integer(.endOffset).flatMap(Int16.init(exactly:))),
            zone: try term(.zone), subject: subject, group: text(.grouping), provenance: provenance,
            metadata: try text(.metadata).map { JSONObject(trusted: $0) }
                ?? integer(.sharedMetadata).map { try termCache.metadata($0, in: db) },
            sourceVersion: integer(.sourceVersion),
            origin: try integer(.origin).map { try termCache.origin($0, in: db) } ?? [],
            extra: text(.extra).map { JSONObject(trusted: $0) })
        if let retracted = integer(.retracted) {
            retraction = Retraction(
                identity: .sample(sample.source, key), source: sample.source,
                author: retracted == 2 ? .person : .source,
                reason: text(.retractionReason), sourceVersion: integer(.retractionVersion))
        }
    }

    private static func damaged(_ number: Int64, _ field: String) -> StoreError {
        StoreError(.corrupt, "read record \(number): its \(field) is malformed; restore a backup")
    }
}

extension SampleRow {
    /// Inserts a sample, or nothing if its identity is known.
    static let insert = """
        INSERT INTO sample (\(SampleColumn.list)) VALUES (\(parameters))
        ON CONFLICT (source, key) DO NOTHING
        """
    /// Replaces the content of number `?1`.
    static let replace: String = {
        let assignments = SampleColumn.allCases.dropFirst().map {
            "\(SampleColumn.names[Int($0.rawValue)]) = ?\($0.parameter)"
        }
        return "UPDATE sample SET \(assignments.joined(separator: ", ")) WHERE number = ?1"
    }()
    static let archive = """
        INSERT INTO sample_version (\(SampleColumn.list)) SELECT \(SampleColumn.list) FROM sample WHERE number = ?1
        """
    /// Stores a version that the source sent while a person's edit or retraction hid the record.
    static let cover = """
        INSERT INTO sample_version (\(SampleColumn.list), covered) VALUES (\(parameters), 1)
        """

    private static let parameters = SampleColumn.allCases.map { "?\($0.parameter)" }.joined(separator: ", ")

    /// The ids that a sample's row refers to.
    struct References {
        var source: Int64
        var type: Int64
        /// 0 if there is no person.
        var person: Int64
    }

    /// Binds all columns of this row for `replace` or `cover`.
    func bind(
        source: Int64, recordedAt: Int64, to statement: RawStatement, _ caches: inout WriterCaches, _ db: Database
    ) throws {
        let intake = IntakeRecord(
            record: .sample(sample), assignment: assignment, canonical: canonical, implausible: implausible)
        try SampleRow.bind(
            intake, sample, number: number, sequence: sequence,
            References(source: source, type: typeID, person: personID), recordedAt: recordedAt, to: statement, &caches,
            db)
        if isAssignedByHand { statement.bind(SampleColumn.assigned.parameter, 1 as Int64) }
        if !edited.isEmpty { statement.bind(SampleColumn.edited.parameter, Int64(edited.rawValue)) }
        if let profileOf {
            statement.bind(SampleColumn.profileOf.parameter, try caches.term(profileOf, .own, in: db))
        }
        guard let retraction else { return }
        statement.bind(SampleColumn.retracted.parameter, retraction.author == .person ? 2 as Int64 : 1)
        statement.bind(SampleColumn.retractionReason.parameter, retraction.reason)
        statement.bind(SampleColumn.retractionVersion.parameter, retraction.sourceVersion)
    }

    /// Binds the columns of a version for `insert` or `replace`; unbound columns are NULL.
    static func bind(
        _ intake: IntakeRecord, _ sample: Sample, number: Int64, sequence: Int64, _ references: References,
        recordedAt: Int64, to row: RawStatement, _ caches: inout WriterCaches, _ db: Database
    ) throws {
        func set(_ column: SampleColumn, _ value: Int64?) { row.bind(column.parameter, value) }
        func set(_ column: SampleColumn, _ value: String?) { row.bind(column.parameter, value) }
        set(.number, number)
        set(.seq, sequence)
        set(.source, references.source)
        set(.key, sample.key.text)
        set(.type, references.type)
        if references.person != 0 {
            set(.person, references.person)
        } else if case .nobody(let reason) = intake.assignment {
            set(.unassigned, try caches.term(reason, .own, in: db))
        }
        set(.start, sample.start.microseconds)
        set(.duration, sample.end.microseconds - sample.start.microseconds)
        row.bind(SampleColumn.startOffset.parameter, sample.start.offsetMinutes)
        row.bind(SampleColumn.endOffset.parameter, sample.end.offsetMinutes)
        if let zone = sample.zone { set(.zone, try caches.term(zone, .zone, in: db)) }

        set(.kind, Int64(sample.value.kind.code))
        switch sample.value {
        case .quantity(let value, let unit):
            if let canonical = intake.canonical {
                row.bind(SampleColumn.value.parameter, canonical.value)
                set(.unit, try caches.term(canonical.unit, .unit, in: db))
                row.bind(SampleColumn.originalValue.parameter, value)
                set(.originalUnit, try caches.term(unit, .originalUnit, in: db))
            } else {
                row.bind(SampleColumn.value.parameter, value)
                set(.unit, try caches.term(unit, .unit, in: db))
            }
        case .category(let name, let raw):
            set(.name, try caches.term(name, .name, in: db))
            set(.raw, raw)
        case .correlation: break
        case .workout(let activity, let raw):
            set(.name, try caches.term(activity, .name, in: db))
            set(.raw, raw)
        case .characteristic(let text, let raw):
            set(.content, text)
            set(.raw, raw)
        case .other(let text): set(.content, text)
        }

        set(.subject, LineListCoding.text(sample.subject))
        set(.grouping, sample.group)
        switch sample.provenance {
        case .measured: set(.provenance, 0)
        case .derived(let formula, let version, let basis):
            set(.provenance, 1)
            set(.method, try caches.term(formula, .method, in: db))
            set(.methodVersion, try caches.term(version, .version, in: db))
            set(.basis, LineListCoding.text(basis))
        case .filled(let method, let basis):
            set(.provenance, 2)
            set(.method, try caches.term(method, .method, in: db))
            set(.basis, LineListCoding.text(basis))
        }
        if let metadata = sample.metadata {
            let shared = try caches.sharedMetadata(metadata, in: db)
            if let shared { set(.sharedMetadata, shared) } else { set(.metadata, metadata.text) }
        }
        set(.sourceVersion, sample.sourceVersion)
        if let origin = LineListCoding.text(sample.origin) { set(.origin, try caches.term(origin, .origin, in: db)) }
        set(.extra, sample.extra?.text)
        if !intake.implausible.isEmpty { set(.implausible, Int64(intake.implausible.rawValue)) }
        set(.recordedAt, recordedAt)
    }
}
