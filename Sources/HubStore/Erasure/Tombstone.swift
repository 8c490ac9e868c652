import Digests
import GRDB
import Samples

/// What is left of an erased record, so that a source which sends it once more does not bring it back.
///
/// The identity is kept as an HMAC with a key of this store: it tells nothing to those who do not have the file. Those who have it can
/// try whether an identity that they guess was erased.
struct Tombstones {
    private let key: [UInt8]
    /// Whether there are any: without, no record costs a look.
    var areThere: Bool

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

    /// The number of the erased record that had this identity.
    func number(of identity: [UInt8], in db: Database) throws -> Int64? {
        let statement = try RawStatement(cached: "SELECT number FROM erased WHERE identity = ?1", in: db)
        defer { statement.clear() }
        statement.bind(1, identity)
        return try statement.step() ? statement.integer(0) : nil
    }

    static func isErased(_ number: Int64, in db: Database) throws -> Bool {
        let statement = try RawStatement(cached: "SELECT 1 FROM erased WHERE number = ?1", in: db)
        defer { statement.clear() }
        statement.bind(1, number)
        return try statement.step()
    }

    /// Before the number it is the key of an erased record of which no sink has to be told any more.
    static let prefix = "~erased-"

    /// The reason of a retraction that is an erasure.
    static let reason = "erased"
}
