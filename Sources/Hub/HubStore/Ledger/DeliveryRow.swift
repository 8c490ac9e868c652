import GRDB

/// A row of `delivery`: the state of one record at one sink, if the sink's cursor does not determine it.
///
/// `state` applies to the version `sequence`. If the record has a newer version, the cursor determines the state of that version.
struct DeliveryRow: Hashable {
    enum State: Int64 {
        /// To be delivered now: replayed, or set aside while an older version was in transit.
        case pending = 0
        case retry = 1
        /// A retry that waits for the sink's authorisation.
        case unauthorized = 2
        case delivered = 3
        /// Delivered ahead of the cursor. The row is deleted once the cursor has passed it.
        case early = 4
        case refused = 5
        case skipped = 6
        case superseded = 7
    }

    let sink: Int64
    let number: Int64
    var sequence: Int64
    var state: State
    /// When to offer the record again, by the clock of waits, or ``atOnce``.
    ///
    /// Set if and only if the row is open.
    var due: Int64?
    /// The remaining wait of a retry when its answer was stored, in microseconds.
    var wait: Int64?
    var attempts: Int64 = 0
    /// The sink's message.
    ///
    /// For `skipped`, the number of a `SkipReason`.
    var reason: String?
    var at: Int64?
    /// The newest version whose result is final and counted, by an answer or a skip; 0 for none.
    var settled: Int64 = 0
    /// Whether the target has the record: the last delivery was not a retraction.
    var holds = false
    /// Whether this row's version was read into a page, which counts as handed out, and has not been answered since.
    var isOffered = false
    /// Whether the target may have the record from an unanswered delivery: of an older version, or of this version before it was handed out
    /// again.
    var mayHold = false
    /// The version that the sink should remove, if the current version no longer matches its filter.
    var departed: Int64?
    var delivered: Int64?
    var deliveredAt: Int64?
    var receipt: String?

    /// A row without data of earlier versions.
    init(sink: Int64, number: Int64, sequence: Int64, state: State) {
        (self.sink, self.number, self.sequence, self.state) = (sink, number, sequence, state)
    }

    /// The row for a version that the cursor has passed, with the state that the cursor implied.
    static func implied(sink: Int64, number: Int64, _ facts: VersionProperties) -> DeliveryRow {
        var row = DeliveryRow(sink: sink, number: number, sequence: facts.sequence, state: .delivered)
        row.settled = facts.sequence
        row.delivered = facts.sequence
        row.holds = !facts.isRetraction
        return row
    }

    var isOpen: Bool { due != nil }

    /// `due` of a row that only waits for its turn.
    static let atOnce: Int64 = 0
}

extension DeliveryRow {
    static let columns = """
        sink, number, seq, state, due, attempts, reason, at, settled, holds, offered, may_hold, departed, delivered, delivered_at, receipt, wait
        """

    init(_ row: RawStatement) throws {
        sink = row.integer(0)
        number = row.integer(1)
        sequence = row.integer(2)
        guard let state = State(rawValue: row.integer(3)) else {
            throw StoreError(
                .corrupt, "read the delivery of record \(row.integer(1)): its state is unknown; restore a backup")
        }
        self.state = state
        due = row.optionalInteger(4)
        attempts = row.integer(5)
        reason = row.text(6)
        at = row.optionalInteger(7)
        settled = row.integer(8)
        holds = row.integer(9) != 0
        isOffered = row.integer(10) != 0
        mayHold = row.integer(11) != 0
        departed = row.optionalInteger(12)
        delivered = row.optionalInteger(13)
        deliveredAt = row.optionalInteger(14)
        receipt = row.text(15)
        wait = row.optionalInteger(16)
    }

    static func find(_ sink: Int64, _ number: Int64, in db: Database) throws -> DeliveryRow? {
        let statement = try RawStatement(
            cached: "SELECT \(columns) FROM delivery WHERE sink = ?1 AND number = ?2", in: db)
        defer { statement.clear() }
        statement.bind(1, sink)
        statement.bind(2, number)
        return try statement.step() ? try DeliveryRow(statement) : nil
    }

    func save(to db: Database) throws {
        let statement = try RawStatement(
            cached: """
                INSERT OR REPLACE INTO delivery (\(DeliveryRow.columns))
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
                """, in: db)
        statement.bind(1, sink)
        statement.bind(2, number)
        statement.bind(3, sequence)
        statement.bind(4, state.rawValue)
        statement.bind(5, due)
        statement.bind(6, attempts)
        statement.bind(7, reason)
        statement.bind(8, at)
        statement.bind(9, settled)
        statement.bind(10, holds ? 1 as Int64 : 0)
        statement.bind(11, isOffered ? 1 as Int64 : 0)
        statement.bind(12, mayHold ? 1 as Int64 : 0)
        statement.bind(13, departed)
        statement.bind(14, delivered)
        statement.bind(15, deliveredAt)
        statement.bind(16, receipt)
        statement.bind(17, wait)
        try statement.run()
    }

    func delete(from db: Database) throws {
        let statement = try RawStatement(cached: "DELETE FROM delivery WHERE sink = ?1 AND number = ?2", in: db)
        statement.bind(1, sink)
        statement.bind(2, number)
        try statement.run()
    }
}
