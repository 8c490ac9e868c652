import HubWire

/// What all open sessions together may send at a time: so much the hub may have to hold of them.
///
/// The first sessions get the whole window, those that come when much is granted already get less, down to what one large batch costs.
struct CreditBudget: Hashable, Sendable {
    /// Bytes of all windows together; `nil` for no bound.
    var total: Int?
    /// Of the sessions that are open.
    private(set) var granted = 0

    /// A session is given a share of what is left.
    private static let share = 64
    /// A batch of the largest frame, with some of its payloads.
    static let least = Credit(records: 1_562, bytes: 1_310_720)

    /// The window of a new session; `nil` where too little is left.
    ///
    /// - Parameters:
    ///   - most: the whole window.
    ///   - kept: bytes that this session must leave to others.
    mutating func grant(upTo most: Credit, keeping kept: Int) -> Credit? {
        guard let credit = offer(upTo: most, keeping: kept) else { return nil }
        granted += credit.bytes
        return credit
    }

    /// The least window, whatever is left.
    mutating func grantLeast(upTo most: Credit) -> Credit {
        let credit = Credit.lesser(Self.least, most)
        granted += credit.bytes
        return credit
    }

    /// What ``grant(upTo:keeping:)`` would grant.
    func offer(upTo most: Credit, keeping kept: Int) -> Credit? {
        guard let total else { return most }
        let left = total - granted - kept
        let least = Credit.lesser(Self.least, most)
        guard left >= least.bytes else { return nil }
        let bytes = min(most.bytes, max(least.bytes, left / Self.share))
        return Credit(records: max(least.records, most.records * bytes / most.bytes), bytes: bytes)
    }

    /// A session is over.
    mutating func take(back credit: Credit) { granted -= credit.bytes }
}
