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
