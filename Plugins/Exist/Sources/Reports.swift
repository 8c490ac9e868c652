import PluginKit

// The results of commands, encoded as JSON.

/// The values that would be sent, the number of calls, and their times.
struct PlanReport: Encodable, Sendable {
    struct Value: Encodable, Sendable {
        var attribute: String
        var date: String
        /// The digits that would be sent.
        var value: String
        /// False for a recent day that is sent again unchanged.
        var changed: Bool
    }
    var account: String?
    var zone: String?
    var today: String?
    var values: [Value]
    var calls: Int
    var unchanged: Int
    var orphaned: [String]
    var leftOut: [String: Int]
    /// The earliest time of the first call; nil if there is nothing to send.
    var begins: String?
    /// When the last call would be done, given the hourly limit.
    var ends: String?
    /// The attributes that would be taken over.
    var acquires: [String]
    var note: String?
}

/// The result of a run.
struct SyncReport: Encodable, Sendable {
    /// Number of values that were due, and how many of them Exist confirmed.
    var sent, confirmed: Int
    var calls: Int
    var orphaned: Int
    var lost: [String: String]
}

/// The differences between the values that Exist returns and those that this program recorded.
struct VerifyReport: Encodable, Sendable {
    struct Difference: Encodable, Sendable {
        var attribute: String
        var date: String
        var exist: String?
        var sent: String?
    }
    var compared: Int
    var differences: [Difference]
}
