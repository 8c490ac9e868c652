/// One subscription: its counts, and its condition.
///
/// wanted = delivered + pending + retrying + refused + superseded + skipped. Times are RFC 3339.
public struct SinkStatus: Codable, Hashable, Sendable {
    /// `instance/subscription`.
    public var name: String
    public var instance: String
    /// Whether a session has it open.
    public var isOpen: Bool
    /// Whether no person needs to act: everything is delivered, in flight, or to be tried again later.
    public var isWell: Bool
    /// The condition or the remedy in one sentence; absent if there is nothing to report.
    public var note: String?
    public var wanted, delivered, pending, retrying, refused, superseded, skipped: Int64
    /// Everything up to this cursor is settled.
    public var cursor: String
    /// True while the hub counts the records for a sink with an earlier start or a new filter: `wanted` and `pending` are too low.
    public var isCounting: Bool?
    /// When the oldest waiting record was stored.
    public var oldestPending: String?
    public var nextRetry: String?
    public var lastDelivered: String?
    public var lastFailure: String?
    public var lastFailureReason: String?
    /// The number of skipped records, by reason.
    public var skips: [String: Int64]

    package init(
        name: String, instance: String, isOpen: Bool, isWell: Bool, note: String?, wanted: Int64, delivered: Int64,
        pending: Int64, retrying: Int64, refused: Int64, superseded: Int64, skipped: Int64, cursor: String,
        isCounting: Bool?, oldestPending: String?, nextRetry: String?, lastDelivered: String?, lastFailure: String?,
        lastFailureReason: String?, skips: [String: Int64]
    ) {
        (self.name, self.instance, self.isOpen, self.isWell, self.note) = (name, instance, isOpen, isWell, note)
        (self.wanted, self.delivered, self.pending, self.retrying) = (wanted, delivered, pending, retrying)
        (self.refused, self.superseded, self.skipped, self.skips) = (refused, superseded, skipped, skips)
        (self.cursor, self.isCounting, self.oldestPending) = (cursor, isCounting, oldestPending)
        (self.nextRetry, self.lastDelivered) = (nextRetry, lastDelivered)
        (self.lastFailure, self.lastFailureReason) = (lastFailure, lastFailureReason)
    }

    private enum CodingKeys: String, CodingKey {
        case name, instance
        case isOpen = "open"
        case isWell = "well"
        case isCounting = "counting"
        case note, wanted, delivered, pending, retrying, refused, superseded, skipped, cursor, oldestPending, nextRetry
        case lastDelivered, lastFailure, lastFailureReason, skips
    }
}
