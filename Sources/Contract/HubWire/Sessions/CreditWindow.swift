/// The hub's account of one session's credit (Protocol §4.3).
///
/// Invariant: `available + inFlight + withheld` equals the window that WELCOME granted, none of them is negative, and the hub never takes
/// back credit that it has given to the client (R4.15).
public struct CreditWindow: Hashable, Sendable {
    /// The credit that WELCOME granted.
    public let window: Credit
    /// The credit that the client may still spend.
    public private(set) var available: Credit
    /// The cost of batches that are not answered yet.
    public private(set) var inFlight = Credit.zero
    /// The credit of answered batches that the hub has not given back yet, because it wants the peer to slow down.
    public private(set) var withheld = Credit.zero

    public init(_ window: Credit) {
        (self.window, available) = (window, window)
    }

    /// Takes the cost of a batch; returns `false` and changes nothing if the cost exceeds the credit.
    public mutating func spend(_ cost: Credit) -> Bool {
        guard available.covers(cost) else { return false }
        available = available - cost
        inFlight = inFlight + cost
        return true
    }

    /// Answers a batch that cost `cost`, and returns the credit that its STORED gives back.
    ///
    /// `withholding` is the total to withhold after this answer, including all credit withheld earlier; a larger value than the credit owed
    /// withholds all of it. When no batch is left in flight, the hub gives back everything, because only a STORED can give it back later.
    public mutating func answer(_ cost: Credit, withholding: Credit = .zero) -> Credit {
        let cost = Credit.lesser(cost, inFlight)
        inFlight = inFlight - cost
        let owed = cost + withheld
        let isLast = inFlight == .zero
        withheld =
            isLast
            ? .zero : .lesser(owed, Credit(records: max(0, withholding.records), bytes: max(0, withholding.bytes)))
        let given = owed - withheld
        available = available + given
        return given
    }
}

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
    mutating func grantMinimum(upTo most: Credit) -> Credit {
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
