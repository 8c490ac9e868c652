import GRDB

/// Numbers of records that people ask for all the time, kept in the row of the store's name: counting rows would read an index that
/// grows with the data.
struct Tallies: Hashable {
    /// Samples that wait for a person to say whose they are.
    private(set) var inbox: Int64
    /// Samples of which something is hardly true.
    private(set) var implausible: Int64
    private var saved: [Int64]

    init(from db: Database) throws {
        let row = try Row.fetchOne(db, sql: "SELECT inbox, implausible FROM meta")
        (inbox, implausible) = (row?[0] ?? 0, row?[1] ?? 0)
        saved = [inbox, implausible]
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

    /// Writes what has changed.
    mutating func save(to db: Database) throws {
        guard saved != [inbox, implausible] else { return }
        let update = try RawStatement(cached: "UPDATE meta SET inbox = ?1, implausible = ?2", in: db)
        update.bind(1, inbox)
        update.bind(2, implausible)
        try update.run()
        saved = [inbox, implausible]
    }
}
