import PluginKit

// What commands answer, as JSON.

/// What would be sent, in how many calls, and when.
struct PlanReport: Encodable, Sendable {
    struct Value: Encodable, Sendable {
        var attribute: String
        var date: String
        /// As it would be sent.
        var value: String
        /// False for one of the last days that only goes along.
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
    /// The earliest time of the first call; nil when nothing has to be sent.
    var begins: String?
    /// When the last one would be over, by the limit of calls an hour.
    var ends: String?
    /// What would change: attributes that would be taken over.
    var acquires: [String]
    var note: String?
}

/// What a run did.
struct SyncReport: Encodable, Sendable {
    /// Values that had to be there, and how many of them Exist has confirmed.
    var sent, confirmed: Int
    var calls: Int
    var orphaned: Int
    var lost: [String: String]
}

/// What Exist says it holds, beside what this program knows.
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
