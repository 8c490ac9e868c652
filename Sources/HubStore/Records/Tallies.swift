import GRDB

/// Numbers that are asked for all the time, kept in the row of the store's name: counting rows would read an index that
/// grows with the data.
struct Tallies: Hashable {
    /// Samples that wait for a person to say whose they are.
    private(set) var inbox: Int64
    /// Samples of which something is hardly true.
    private(set) var implausible: Int64
    /// How many transactions the store has had.
    private(set) var commits: Int64

    init(from db: Database) throws {
        let row = try Row.fetchOne(db, sql: "SELECT inbox, implausible, commits FROM meta")
        (inbox, implausible, commits) = (row?[0] ?? 0, row?[1] ?? 0, row?[2] ?? 0)
    }

    /// A first version was stored.
    mutating func add(isInbox: Bool, isImplausible: Bool) {
        if isInbox { inbox += 1 }
        if isImplausible { implausible += 1 }
    }

    /// One version took another's place.
    mutating func replace(_ old: SampleRow, with new: SampleRow) {
        for (row, count) in [(old, -1 as Int64), (new, 1)] where row.retraction == nil {
            if row.personID == 0 { inbox += count }
            if !row.implausible.isEmpty { implausible += count }
        }
    }

    /// A record was removed.
    mutating func remove(_ row: SampleRow) {
        guard row.retraction == nil else { return }
        if row.personID == 0 { inbox -= 1 }
        if !row.implausible.isEmpty { implausible -= 1 }
    }

    /// Writes them at the end of a transaction, which it counts.
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
