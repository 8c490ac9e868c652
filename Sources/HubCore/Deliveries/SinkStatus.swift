import HubSessions

/// One subscription: its account, and how it does.
///
/// wanted = delivered + pending + retrying + refused + superseded + skipped. Times are RFC 3339.
public struct SinkStatus: Codable, Hashable, Sendable {
    /// `instance/subscription`.
    public var name: String
    public var instance: String
    /// Whether a session has it open.
    public var isOpen: Bool
    /// Whether nothing needs a person: everything is delivered, on its way, or to be tried again later.
    public var isWell: Bool
    /// What is to be known or done, in one sentence; absent when all is well and quiet.
    public var note: String?
    public var wanted, delivered, pending, retrying, refused, superseded, skipped: Int64
    /// Up to where everything is settled.
    public var cursor: String
    /// True while what it is owed is being counted, after an earlier start or with a new filter: `wanted` and `pending` are too low.
    public var isCounting: Bool?
    /// When the oldest record that waits was stored.
    public var oldestPending: String?
    public var nextRetry: String?
    public var lastDelivered: String?
    public var lastFailure: String?
    public var lastFailureReason: String?
    /// How many were skipped, by reason.
    public var skips: [String: Int64]

    private enum CodingKeys: String, CodingKey {
        case name, instance
        case isOpen = "open"
        case isWell = "well"
        case isCounting = "counting"
        case note, wanted, delivered, pending, retrying, refused, superseded, skipped, cursor, oldestPending, nextRetry
        case lastDelivered, lastFailure, lastFailureReason, skips
    }
}
