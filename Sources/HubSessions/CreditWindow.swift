public import HubWire

/// The hub's account of one session's credit (Protocol §4.3).
///
/// Law: `available + inFlight + withheld` is always the window that WELCOME granted, none of them is ever negative, and what the
/// client was told it may send is never taken back (R4.15).
public struct CreditWindow: Hashable, Sendable {
    /// What WELCOME granted.
    public let window: Credit
    /// What the client may still send.
    public private(set) var available: Credit
    /// The cost of batches that are not answered yet.
    public private(set) var inFlight = Credit.zero
    /// What was answered and not given back yet, because the hub wants the peer slower.
    public private(set) var withheld = Credit.zero

    public init(_ window: Credit) {
        (self.window, available) = (window, window)
    }

    /// Takes the cost of a batch; `false`, and nothing changes, when it is beyond the credit.
    public mutating func spend(_ cost: Credit) -> Bool {
        guard available.covers(cost) else { return false }
        available = available - cost
        inFlight = inFlight + cost
        return true
    }

    /// Answers a batch that had cost `cost`, and says what its STORED gives back.
    ///
    /// `withholding` is what shall be withheld after this answer, all earlier included; more than there is means all there is.
    /// When no batch is left in flight everything is given, for only a STORED can give it later.
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
