import GRDB
import Samples

/// The retraction of a record that left a person or a type, for followers of only that person or type.
enum Departure {
    enum Cause {
        /// A person or a rule assigned it to another person.
        case person
        /// Its source gave it another type.
        case type
    }

    /// The columns that ``record(_:_:_:)`` reads, of `departure` as `d` and `sample` as `s`.
    static let columns = "d.number, d.seq, d.type, d.person, s.source, s.key, d.retyped"

    static func record(_ row: RawStatement, _ termCache: TermCache, _ db: Database) throws -> StoredRecord {
        guard let key = row.text(5).flatMap(RecordKey.init) else {
            throw StoreError(.corrupt, "read record \(row.integer(0)): its key is malformed; restore a backup")
        }
        return record(
            of: try termCache.source(row.integer(4), in: db), key, type: try termCache.type(row.integer(2), in: db),
            from: try row.optionalInteger(3).map { try termCache.person($0, in: db) }, number: row.integer(0),
            sequence: row.integer(1), cause: row.isNull(6) ? .person : .type)
    }

    /// The record does not reveal its new person and type.
    ///
    /// - Parameter person: the previous person; `nil` for the inbox.
    static func record(
        of source: Source, _ key: RecordKey, type: TypeID, from person: Person?, number: Int64, sequence: Int64,
        cause: Cause
    ) -> StoredRecord {
        let reason =
            cause == .type
            ? "no longer of this type" : person == nil ? "assigned to a person" : "no longer assigned to this person"
        return StoredRecord(
            record: .retraction(
                Retraction(
                    identity: .sample(source, key), source: source, author: cause == .type ? .source : .person,
                    reason: reason)),
            number: number, sequence: sequence, assignment: person.map(Assignment.person) ?? .nobody(reason: reason),
            type: type)
    }
}
