import GRDB
import Samples

/// Searches the versions of days for those computed from erased records.
///
/// No index lists the records that a day is computed from.
struct ErasedDaySweep {
    /// 0: current versions of days; 1: superseded versions.
    private var table = 0
    private var place: (number: Int64, sequence: Int64) = (0, 0)

    /// The numbers of basis records and of days that one transaction reads.
    private static let (basisAtOnce, daysAtOnce) = (5_000, 2_000)

    /// Whether all days have been read.
    var isOver: Bool { table > 1 }

    /// Reads the next days.
    ///
    /// - Returns: the numbers of days computed from erased records, at most as many as one transaction erases.
    mutating func look(_ tombstones: Tombstones, _ termCache: TermCache, in db: Database) throws -> [Int64] {
        let columns = "SELECT number, seq, basis, source FROM"
        let statement = try RawStatement(
            cached: table == 0
                ? "\(columns) day WHERE number > ?1 ORDER BY number"
                : "\(columns) day_version WHERE (number, seq) > (?1, ?2) ORDER BY number, seq", in: db)
        defer { statement.clear() }
        statement.bind(1, place.number)
        if table > 0 { statement.bind(2, place.sequence) }
        var (found, looked, days): ([Int64], Int, Int) = ([], 0, 0)
        while try statement.step() {
            place = (statement.integer(0), statement.integer(1))
            let basis = LineListCoding.basis(statement.text(2)) ?? []
            (looked, days) = (looked + basis.count, days + 1)
            if !basis.isEmpty,
                try tombstones.erased(among: basis, of: termCache.source(statement.integer(3), in: db), in: db) != nil,
                found.last != place.number
            {
                found.append(place.number)
            }
            let isFull = found.count == RecordEraser.recordsAtOnce
            if isFull || looked >= Self.basisAtOnce || days == Self.daysAtOnce { return found }
        }
        (table, place) = (table + 1, (0, 0))
        return found
    }
}

extension Tombstones {
    /// The first erased record of a basis.
    ///
    /// Records removed by retention do not count, because their days are kept.
    ///
    /// - Parameter source: the source of the day; the basis may contain its keys.
    func erased(among basis: [Provenance.Basis], of source: Source, in db: Database) throws -> Int64? {
        let find = try RawStatement(
            cached: """
                SELECT 1 FROM erased WHERE number = ?1
                    AND (EXISTS (SELECT 1 FROM sample WHERE number = ?1) OR EXISTS (SELECT 1 FROM day WHERE number = ?1))
                """, in: db)
        for item in basis {
            let number: Int64?
            switch item {
            case .number(let own): number = own
            case .key(let key): number = try self.number(of: identity(source, key), in: db)
            }
            guard let number else { continue }
            defer { find.clear() }
            find.bind(1, number)
            if try find.step() { return number }
        }
        return nil
    }
}

/// Erases the values of days computed from erased records. The sources of these days can store them again.
extension RecordEraser {
    /// The number of pieces that one transaction reads if it finds nothing.
    private static let emptyChecks = 4

    /// Reads some days and erases the values computed from erased records.
    ///
    /// - Returns: the results of these days, and whether all days have been read.
    static func eraseDays(in transaction: inout WriteTransaction) throws -> (results: [ManualResult], isOver: Bool) {
        var sweep = transaction.caches.erasedDays ?? ErasedDaySweep()
        var results: [ManualResult] = []
        var found: [Int64] = []
        for _ in 0..<emptyChecks where found.isEmpty && !sweep.isOver {
            found = try sweep.look(transaction.caches.tombstones, transaction.caches.termCache, in: transaction.db)
        }
        for number in found {
            let result = try apart(number, in: &transaction) { transaction in
                try eraseVersions(ofDay: number, in: &transaction)
            }
            switch result {
            case .some(.some(let result)): results.append(ManualResult(number: number, result: result, isDerived: true))
            case .some(nil): break
            case nil: results.append(failure(number, isDerived: true))
            }
        }
        transaction.caches.erasedDays = sweep.isOver ? nil : sweep
        return (results, sweep.isOver)
    }

    /// Erases all days near a sample that do not list everything they are computed from, because the sample may be in the unlisted part.
    ///
    /// - Parameter spans: the start and duration of the sample, for each person and type that it had.
    static func eraseDays(near spans: [ErasedSpan], in transaction: inout WriteTransaction) throws -> [ManualResult] {
        var numbers: Set<Int64> = []
        for span in spans {
            let statement = try RawStatement(
                cached: """
                    SELECT number FROM day INDEXED BY day_identity WHERE person = ?1 AND type = ?2
                        AND series IN (SELECT label FROM stream WHERE kind = 1 AND person = ?1 AND type = ?2)
                        AND date BETWEEN ?3 AND ?4 AND (\(isCut)
                            OR EXISTS (SELECT 1 FROM day_version v WHERE v.number = day.number AND v.\(isCut)))
                    """, in: transaction.db)
            defer { statement.clear() }
            statement.bind(1, span.person)
            statement.bind(2, span.type)
            // In any time zone a date differs from that in UTC by one day at most, and a day may begin later than midnight.
            statement.bind(3, span.start.flooredDivision(by: 86_400_000_000) - 2)
            statement.bind(4, (span.start + span.duration).flooredDivision(by: 86_400_000_000) + 2)
            while try statement.step() { numbers.insert(statement.integer(0)) }
        }
        return try numbers.sorted().compactMap { number in
            try eraseVersions(ofDay: number, isNear: true, in: &transaction).map {
                ManualResult(number: number, result: $0, isDerived: true)
            }
        }
    }

    fileprivate static let isCut = #"metadata LIKE '%"basisCount":%'"#

    /// Empties the versions of a day that were computed from erased records.
    ///
    /// If the day is left without a value, it is retracted.
    ///
    /// Its person, type, series and date are kept, so that a new version can replace it.
    /// - Parameter isNear: whether to include versions that do not list everything they are computed from.
    /// - Returns: `nil` if there is no such version.
    private static func eraseVersions(
        ofDay number: Int64, isNear: Bool = false, in transaction: inout WriteTransaction
    ) throws -> StoreResult? {
        let db = transaction.db
        guard let known = try transaction.findDay(DayRow.byNumber, number), try !Tombstones.isErased(number, in: db)
        else { return nil }
        let made = try transaction.caches.tombstones.versions(ofDay: number, known.day.source, isNear, in: db)
        guard !made.isEmpty else { return nil }
        var result = known.duplicate
        if made.contains(known.sequence), known.retraction == nil {
            // Retract it as its source would, so that the source can store the day again.
            result = try transaction.retract(
                known, .source, reason: Tombstones.reason, version: nil, source: nil, isLimited: false)
        }
        try rememberWords(ofDay: number, in: db)
        for sequence in try transaction.caches.tombstones.versions(ofDay: number, known.day.source, isNear, in: db) {
            for table in ["day", "day_version"] {
                let statement = try RawStatement(
                    cached: "UPDATE \(table) SET \(emptyDay) WHERE number = ?1 AND seq = ?3", in: db)
                statement.bind(1, number)
                statement.bind(2, try transaction.caches.term(DayRow.erasedMethod, .own, in: db))
                statement.bind(3, sequence)
                try statement.run()
            }
            try RawStatement.run("DELETE FROM payload WHERE seq = ?1", sequence, in: db)
            try RawStatement.run("UPDATE deed SET reason = NULL WHERE seq = ?1", sequence, in: db)
        }
        try transaction.caches.ledger.forgetReasons(number, in: db)
        return result
    }
}

extension Tombstones {
    /// The sequence numbers of a day's versions that were computed from erased records.
    ///
    /// - Parameter isNear: whether to include versions that do not list everything they are computed from.
    fileprivate func versions(ofDay number: Int64, _ source: Source, _ isNear: Bool, in db: Database) throws -> [Int64]
    {
        let statement = try RawStatement(
            cached: """
                SELECT seq, basis, \(RecordEraser.isCut) FROM day WHERE number = ?1
                UNION ALL SELECT seq, basis, \(RecordEraser.isCut) FROM day_version WHERE number = ?1
                """, in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        var found: [Int64] = []
        while try statement.step() {
            let basis = LineListCoding.basis(statement.text(1)) ?? []
            if try isNear && statement.integer(2) != 0
                || erased(among: basis, of: source, in: db) != nil
            {
                found.append(statement.integer(0))
            }
        }
        return found
    }
}

/// The time of a version of an erased sample.
struct ErasedSpan {
    var person: Int64
    var type: Int64
    /// In microseconds since 1970.
    var start: Int64
    var duration: Int64

    /// The start and duration of a sample, in each of its versions.
    static func all(of number: Int64, in db: Database) throws -> [ErasedSpan] {
        let statement = try RawStatement(
            cached: """
                SELECT person, type, start, duration FROM sample WHERE number = ?1 AND person IS NOT NULL
                UNION SELECT person, type, start, duration FROM sample_version WHERE number = ?1 AND person IS NOT NULL
                """, in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        var spans: [ErasedSpan] = []
        while try statement.step() {
            spans.append(
                ErasedSpan(
                    person: statement.integer(0), type: statement.integer(1), start: statement.integer(2),
                    duration: statement.integer(3)))
        }
        return spans
    }
}

extension DayRow {
    /// The method of a version whose value is erased.
    ///
    /// No source may use it (Protocol R6.7).
    static let erasedMethod = Tombstones.prefix + "day"
}
