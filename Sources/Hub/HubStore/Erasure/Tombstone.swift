import GRDB
import HubWire
import Platform
import Samples

/// The remains of an erased record, so that a source that sends it again does not restore it.
///
/// The identity is kept as an HMAC with a key of this store. It reveals nothing without the file. With the file, one can test whether a guessed
/// identity was erased.
struct Tombstones {
    private let key: [UInt8]
    /// Whether there are any.
    ///
    /// If not, no look-up is needed per record.
    private(set) var areThere: Bool

    init(from db: Database) throws {
        let statement = try RawStatement(new: "SELECT erasure_key FROM meta", in: db)
        key = try statement.step() ? statement.bytes(0) ?? [] : []
        areThere = try Int64.fetchOne(db, sql: "SELECT 1 FROM erased LIMIT 1") != nil
    }

    func identity(_ source: Source, _ key: RecordKey) -> [UInt8] {
        hash(["sample", source.plugin, source.device, source.account, key.text])
    }

    /// - Parameter person: the uid.
    func identity(day date: LocalDate, _ series: String, _ type: TypeID, person: String) -> [UInt8] {
        hash(["day", person, type.rawValue, series, "\(date.daysSinceEpoch)"])
    }

    func identity(of row: SampleRow) -> [UInt8] { identity(row.sample.source, row.sample.key) }

    func identity(of row: DayRow) -> [UInt8] {
        identity(day: row.day.date, row.day.series, row.day.type, person: row.person.uid)
    }

    private func hash(_ parts: [String?]) -> [UInt8] {
        var message: [UInt8] = []
        for part in parts {
            guard let part else {
                message.append(0)
                continue
            }
            message.append(1)
            withUnsafeBytes(of: UInt32(part.utf8.count).bigEndian) { message += $0 }
            message += part.utf8
        }
        return Array(Digests.authenticate(message, key: key).prefix(16))
    }

    /// Stores the identity of a record that is erased or removed.
    ///
    /// - Parameter isNamed: whether its row still has the identity, for sinks.
    mutating func add(
        _ number: Int64, _ identity: [UInt8], isNamed: Bool, at recordedAt: Int64, in db: Database
    ) throws {
        let insert = try RawStatement(
            cached: isNamed
                ? "INSERT INTO erased (number, identity, at, named) VALUES (?1, ?2, ?3, 1)"
                : "INSERT INTO erased (number, identity, at) VALUES (?1, ?2, ?3)", in: db)
        insert.bind(1, number)
        insert.bind(2, identity)
        insert.bind(3, recordedAt)
        try insert.run()
        areThere = true
    }

    /// The number of the erased record that had this identity.
    func number(of identity: [UInt8], in db: Database) throws -> Int64? {
        let statement = try RawStatement(cached: "SELECT number FROM erased WHERE identity = ?1", in: db)
        defer { statement.clear() }
        statement.bind(1, identity)
        return try statement.step() ? statement.integer(0) : nil
    }

    static func isErased(_ number: Int64, in db: Database) throws -> Bool {
        try RawStatement.integer("SELECT 1 FROM erased WHERE number = ?1", number, in: db) != nil
    }

    /// The result of a change of an erased record.
    static func refusal(of number: Int64) -> StoreResult {
        .rejected(
            RecordRejection(.init(received: "erased"), "record \(number) was erased: nothing is left of it"))
    }

    /// The key of an erased record is this prefix and its number, once all sinks have been notified.
    static let prefix = "~erased-"

    /// The reason of a retraction that is an erasure.
    static let reason = "erased"

    /// Gives a row the name of an erased record.
    ///
    /// If another row has that name, as in stores of earlier hubs, random letters are added.
    ///
    /// - Parameter sql: makes the statement from an update command; the statement is bound to the row's id and the name.
    static func giveName(_ id: Int64, in db: Database, _ sql: (String) -> String) throws {
        let name = "\(prefix)\(id)"
        for (update, name) in [("UPDATE OR IGNORE", name), ("UPDATE", "\(name)-\(RandomName.uid())")] {
            let statement = try RawStatement(cached: sql(update), in: db)
            statement.bind(1, id)
            statement.bind(2, name)
            try statement.run()
            if db.changesCount > 0 { return }
        }
    }

    /// Allows sources to send erased records again, each as a new record.
    static func allowAgain(_ numbers: [Int64], in db: Database) throws -> [ManualResult] {
        try numbers.map { number in
            guard try isErased(number, in: db) else {
                return ManualResult(
                    number: number,
                    result: .rejected(RecordRejection(.unknown, "record \(number) was not erased")))
            }
            let named = "SELECT 1 FROM erased WHERE number = ?1 AND named = 1"
            guard try RawStatement.integer(named, number, in: db) == nil else {
                let reason = "record \(number): not all sinks know yet that it was erased; hub status says which"
                return ManualResult(number: number, result: .rejected(RecordRejection(.init(received: "busy"), reason)))
            }
            try RawStatement.run("UPDATE erased SET identity = NULL WHERE number = ?1", number, in: db)
            return ManualResult(number: number, result: .duplicate(number: number, sequence: 0))
        }
    }
}

extension WriterCaches {
    /// The result for a source that sends an erased record.
    func erased(_ intake: IntakeRecord, in db: Database) throws -> StoreResult? {
        guard tombstones.areThere else { return nil }
        let identity: [UInt8]?
        switch intake.record {
        case .sample(let sample): identity = tombstones.identity(sample.source, sample.key)
        case .day(let day):
            identity = uid(day.person).map { tombstones.identity(day: day.date, day.series, day.type, person: $0) }
        case .retraction(let retraction):
            switch retraction.identity {
            case .sample(let source, let key): identity = tombstones.identity(source, key)
            case .day(let person, let type, let series, let date):
                // Do not reveal whether another plugin's day was erased.
                guard DayValue.maker(ofSeries: series) == retraction.source.plugin else { return nil }
                identity = uid(person).map { tombstones.identity(day: date, series, type, person: $0) }
            }
        }
        guard let identity, let number = try tombstones.number(of: identity, in: db) else { return nil }
        // Records removed by retention have no row.
        let sequence = try VersionLookup.current(number, in: db)?.sequence ?? number
        return .duplicate(number: number, sequence: sequence)
    }

    private func uid(_ person: String) -> String? {
        persons.first { $0.uid == person }?.uid ?? persons.first { $0.name == person }?.uid
    }
}
