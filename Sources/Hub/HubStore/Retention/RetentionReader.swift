import GRDB
import Samples

/// Finds the records that a rule applies to, piece by piece, in order of time.
struct RetentionReader {
    /// A part of the history: samples of one person and type, or days.
    private struct Part {
        var type: Int64
        var person: Int64
        var isDays: Bool
    }

    /// The result of one piece.
    struct Piece {
        var removable: [Int64] = []
        var thinned: ThinnedDay?
    }

    private let terms: RetentionTerms
    /// Earlier rules, whose records are not counted again.
    private let earlier: [RetentionTerms]
    /// Time zones of persons, by name.
    private let zones: [String: String]
    private let parts: [Part]
    private var part = 0
    private var place = RowPosition(key: .min, number: .min)
    private(set) var count = RetentionCount()

    /// Maximum number of rows in a piece, and of records that it may find.
    private static let rows = 2_000
    private static let most = 100
    /// Maximum number of samples of a day thinned at once.
    ///
    /// The rest is added to the same value afterwards.
    private static let samplesOfDay = 20_000

    /// - Parameters:
    ///   - earlier: rules that apply before this one, for counting all of them.
    ///   - now: microseconds since 1970.
    init(
        _ rule: RetentionRule, after earlier: [RetentionRule] = [], now: Int64, zones: [String: String] = [:],
        in db: Database
    ) throws {
        self.zones = zones
        terms = try RetentionTerms(rule, now: now, in: db)
        self.earlier = try earlier.map { try RetentionTerms($0, now: now, in: db) }
        let persons = [0] + (try Int64.fetchAll(db, sql: "SELECT id FROM person ORDER BY id"))
        parts = terms.types.flatMap { type in
            persons.flatMap { person in
                [Part(type: type, person: person, isDays: false)]
                    + (person == 0 ? [] : [Part(type: type, person: person, isDays: true)])
            }
        }
    }

    var isOver: Bool { part == parts.count }

    /// The next piece.
    ///
    /// Records that sinks wait for are counted and skipped.
    mutating func next(_ termCache: TermCache, in db: Database) throws -> Piece {
        let current = parts[part]
        let sinks = try SinkRecord.all(in: db)
        let head = try SequenceHead.read(in: db)
        var piece = Piece()
        if current.isDays {
            try days(current, sinks, head, &piece, in: db)
        } else {
            try samples(current, sinks, head, &piece, termCache, in: db)
        }
        return piece
    }

    private mutating func endPart() { (part, place) = (part + 1, RowPosition(key: .min, number: .min)) }

    /// Whether a record may be removed now.
    private mutating func isFree(
        _ number: Int64, _ facts: VersionProperties, _ sinks: [SinkRecord], _ head: Int64, isThinned: Bool = false,
        in db: Database
    )
        throws -> Bool
    {
        // The row with the head must stay. For a thinned record, its day value is newer.
        guard isThinned || facts.sequence < head, try !Tombstones.isErased(number, in: db) else { return false }
        let waiting = try sinks.filter { try $0.isAwaiting(number, facts, in: db) }
        guard waiting.isEmpty else {
            count.waiting += 1
            count.waitingFor.formUnion(waiting.map(\.name))
            return false
        }
        return true
    }

    /// Whether a day value already includes this version of a sample, so that it only has to be removed.
    static func isCounted(_ number: Int64, _ sequence: Int64, in db: Database) throws -> Bool {
        let statement = try RawStatement(cached: "SELECT 1 FROM removal WHERE number = ?1 AND seq = ?2", in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        statement.bind(2, sequence)
        return try statement.step()
    }

    private mutating func days(
        _ current: Part, _ sinks: [SinkRecord], _ head: Int64, _ piece: inout Piece, in db: Database
    ) throws {
        guard let before = terms.removeBefore else { return endPart() }
        let statement = try RawStatement(
            cached: """
                SELECT date, number, seq, source, retracted IS NOT NULL, series FROM day
                WHERE person = ?1 AND type = ?2 AND date < ?3 AND (series, date) > (?4, ?5) ORDER BY series, date
                """, in: db)
        defer { statement.clear() }
        statement.bind([current.person, current.type, Filter.floor(before), place.number, place.key])
        var looked = 0
        while try statement.step() {
            looked += 1
            place = RowPosition(key: statement.integer(0), number: statement.integer(5))
            let facts = VersionProperties(
                sequence: statement.integer(2), type: current.type, person: current.person, kind: VersionProperties.day,
                isRetraction: statement.integer(4) != 0)
            let (date, source, series) = (statement.integer(0), statement.integer(3), statement.integer(5))
            if terms.removes(day: date, current.type, source, series),
                !earlier.contains(where: { $0.removes(day: date, current.type, source, series) }),
                try isFree(statement.integer(1), facts, sinks, head, in: db)
            {
                piece.removable.append(statement.integer(1))
                count.removed += 1
            }
            if piece.removable.count == Self.most || looked == Self.rows { return }
        }
        endPart()
    }

    private mutating func samples(
        _ current: Part, _ sinks: [SinkRecord], _ head: Int64, _ piece: inout Piece, _ termCache: TermCache,
        in db: Database
    ) throws {
        guard let end = [terms.removeBefore, terms.thinBefore].compactMap({ $0 }).max() else { return endPart() }
        let statement = try RawStatement(
            cached: """
                SELECT start, number, seq, source, retracted IS NOT NULL, kind, start + duration, start_offset, zone
                FROM sample INDEXED BY sample_history
                WHERE person IS ?1 AND type = ?2 AND start < ?3 AND (start, number) > (?4, ?5) ORDER BY start, number
                """, in: db)
        defer { statement.clear() }
        statement.bind(1, current.person == 0 ? nil : current.person)
        statement.bind([current.type, end, place.key, place.number], from: 2)
        let person = current.person == 0 ? nil : try termCache.person(current.person, in: db)
        let personZone = person.flatMap { zones[$0.name] } ?? "UTC"
        var looked = 0
        while try statement.step() {
            let here = RowPosition(key: statement.integer(0), number: statement.integer(1))
            let facts = VersionProperties(
                sequence: statement.integer(2), type: current.type, person: current.person,
                kind: Int(statement.integer(5)), isRetraction: statement.integer(4) != 0)
            let (source, ended) = (statement.integer(3), statement.integer(6))
            let start = Timestamp(
                microseconds: here.key, offsetMinutes: statement.optionalInteger(7).map { Int16($0) })
            let zone = try statement.optionalInteger(8).map { try termCache.term($0, in: db) }
            // In an unknown time zone the day is unknown, and the sample is kept.
            let date = LocalDay.number(of: start, sampleZone: zone, personZone: personZone)
            // A piece has samples of one day and plugin; another day or plugin begins the next piece.
            let isThinnable = facts.kind == 0 && !facts.isRetraction && current.person != 0
            let canThin = isThinnable && terms.thins(date, ended)
            let goes = terms.removes(ended)
            let plugin = try termCache.source(source, in: db).plugin
            if let thinned = piece.thinned {
                if !canThin || goes || thinned.date.daysSinceEpoch != date || thinned.plugin != plugin { return }
            } else if canThin, !goes, !piece.removable.isEmpty {
                return
            }
            place = here
            looked += 1
            if terms.concerns(current.type, source), goes || canThin,
                !earlier.contains(where: {
                    $0.concerns(current.type, source) && ($0.removes(ended) || isThinnable && $0.thins(date, ended))
                }),
                try isFree(here.number, facts, sinks, head, isThinned: !goes, in: db),
                try goes || !Self.isCounted(here.number, facts.sequence, in: db)
            {
                if goes {
                    piece.removable.append(here.number)
                    count.removed += 1
                } else {
                    var thinned =
                        try piece.thinned
                        ?? ThinnedDay(
                            personID: current.person, person: termCache.person(current.person, in: db),
                            type: termCache.type(current.type, in: db), plugin: plugin,
                            date: LocalDate(daysSinceEpoch: date ?? 0), samples: [])
                    thinned.samples.append(ThinnedDay.Version(number: here.number, sequence: facts.sequence))
                    piece.thinned = thinned
                    count.thinned += 1
                }
            }
            if piece.removable.count == Self.most || piece.thinned?.samples.count ?? 0 == Self.samplesOfDay { return }
            if looked >= Self.rows, piece.thinned == nil { return }
        }
        endPart()
    }
}
