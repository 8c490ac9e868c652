/// The credit of all open sessions together: it bounds the memory that the hub may need for their batches.
///
/// The first sessions get the whole window. When much has been granted, new sessions get less, down to the cost of one large batch.
struct CreditBudget: Hashable, Sendable {
    /// Bytes of all windows together; `nil` for no bound.
    var total: Int?
    /// Bytes granted to the sessions that are open.
    private(set) var granted = 0

    /// A new session gets one part in this number of the bytes that are left.
    private static let share = 64
    /// A batch of the largest frame, with some of its payloads.
    static let least = Credit(records: 1_562, bytes: 1_310_720)

    /// Grants the window of a new session; returns `nil` if too little is left.
    ///
    /// - Parameters:
    ///   - most: the whole window.
    ///   - kept: bytes that this session must leave to others.
    mutating func grant(upTo most: Credit, keeping kept: Int) -> Credit? {
        guard let credit = offer(upTo: most, keeping: kept) else { return nil }
        granted += credit.bytes
        return credit
    }

    /// Grants the least window, whatever is left.
    mutating func grantLeast(upTo most: Credit) -> Credit {
        let credit = Credit.lesser(Self.least, most)
        granted += credit.bytes
        return credit
    }

    /// The window that ``grant(upTo:keeping:)`` would grant.
    func offer(upTo most: Credit, keeping kept: Int) -> Credit? {
        guard let total else { return most }
        let left = total - granted - kept
        let least = Credit.lesser(Self.least, most)
        guard left >= least.bytes else { return nil }
        let bytes = min(most.bytes, max(least.bytes, left / Self.share))
        return Credit(records: max(least.records, most.records * bytes / most.bytes), bytes: bytes)
    }

    /// Takes back the credit of a session that is over.
    mutating func take(back credit: Credit) { granted -= credit.bytes }
}
