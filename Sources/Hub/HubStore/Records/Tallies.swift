import GRDB
import Samples

/// Counters that are read often, stored in the row of the store's name.
///
/// Counting rows would read an index that grows with the data.
struct Tallies: Hashable {
    /// Samples that wait to be assigned to a person, except those of guests.
    private(set) var inbox: Int64
    /// Implausible samples, except those of guests.
    private(set) var implausible: Int64
    /// The number of transactions of the store.
    private(set) var commits: Int64

    /// SQL that counts unretracted samples that are not a guest's and meet a condition.
    private static func counted(_ condition: String) -> String {
        """
        SELECT count(*) FROM sample WHERE \(condition) AND retracted IS NULL
            AND unassigned IS NOT ifnull((SELECT id FROM term WHERE text = 'guest'), 0)
        """
    }

    /// Counts ``inbox`` from the samples.
    static let countedInbox = counted("person IS NULL")
    /// Counts ``implausible`` from the samples.
    static let countedImplausible = counted("implausible IS NOT NULL")

    init(from db: Database) throws {
        let row = try Row.fetchOne(db, sql: "SELECT inbox, implausible, commits FROM meta")
        (inbox, implausible, commits) = (row?[0] ?? 0, row?[1] ?? 0, row?[2] ?? 0)
    }

    /// Counts a first version that was stored.
    mutating func add(_ assignment: Assignment, isImplausible: Bool) {
        if assignment.isInInbox { inbox += 1 }
        if isImplausible, !assignment.isGuest { implausible += 1 }
    }

    /// Counts a version that replaced another.
    mutating func replace(_ old: SampleRow, with new: SampleRow) {
        count(old, -1)
        count(new, 1)
    }

    /// Counts a removed record.
    mutating func remove(_ row: SampleRow) { count(row, -1) }

    private mutating func count(_ row: SampleRow, _ change: Int64) {
        guard row.retraction == nil else { return }
        if row.assignment.isInInbox { inbox += change }
        if !row.implausible.isEmpty, !row.assignment.isGuest { implausible += change }
    }

    /// Writes the counters at the end of a transaction, and counts the transaction.
    mutating func save(to db: Database) throws {
        commits += 1
        let update = try RawStatement(
            cached: "UPDATE meta SET inbox = ?1, implausible = ?2, commits = ?3", in: db)
        update.bind(1, inbox)
        update.bind(2, implausible)
        update.bind(3, commits)
        try update.run()
    }
}
