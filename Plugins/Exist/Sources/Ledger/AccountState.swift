import Foundation
import PluginKit

/// The persistent state of the Exist account to which this instance sends.
struct AccountState: Codable, Hashable, Sendable {
    /// Exist's user name, which identifies the account.
    var username: String?
    /// The zone of the profile, which determines today's date.
    var zone: String?
    /// The hub's uid of the person whose days are sent.
    var person: String?
    /// By the names in the setting `attributes`.
    var ownership: [String: Ownership] = [:]
    /// When an update was last sent.
    var updated: Int64?
    /// The time until which no calls are made, and why.
    var rest: Rest?
    /// Number of failures in a row.
    var setbacks = 0
    /// Times of the calls of the last hour, oldest first.
    var calls: [Int64] = []
    /// When the attributes of this client were last listed.
    var listed: Int64?

    struct Rest: Codable, Hashable, Sendable {
        /// When it began; nil if an older version wrote it.
        var since: Int64?
        var until: Int64
        var reason: String
    }

    struct Ownership: Codable, Hashable, Sendable {
        /// Exist's name of the attribute; nil while it is not ours.
        var name: String?
        /// Why the attribute is not ours.
        var lost: String?
        /// When it was last taken back from another service.
        var reacquired: Int64?
    }

    static let key = "account"

    static func read(_ state: PluginState) throws -> AccountState {
        guard let bytes = try state.bytes(key) else { return AccountState() }
        guard let read = try? JSONDecoder().decode(AccountState.self, from: Data(bytes)) else {
            throw PluginFailure(.state, "the state of the account cannot be read: was it written by a newer program?")
        }
        return read
    }

    func entry() throws -> StateValue {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return .bytes(Array(try encoder.encode(self)))
    }
}

/// Limits the calls of an hour, and the waits after failures.
///
/// The state is saved with the account, so that a restarted program does not begin to count again.
extension AccountState {
    private static let hour: Int64 = 3_600_000_000

    /// Microseconds until another call is within the limit; nil if it may be made now.
    mutating func wait(for limit: Int, at now: Int64) -> Int64? {
        // Even if the clock was set back, no call waits longer than an hour.
        calls = calls.filter { $0 > now - Self.hour }.map { min($0, now) }
        guard calls.count >= limit else { return nil }
        return calls[calls.count - limit] + Self.hour - now + 1
    }

    /// Notes the answer to the last call: Exist may have counted the call as late as this.
    mutating func answered(at now: Int64) {
        if let last = calls.last { calls[calls.count - 1] = max(last, now) }
    }

    /// Notes that no calls may be made for this long.
    mutating func rest(for time: Duration, at now: Int64, _ reason: String) {
        rest = Rest(since: now, until: now + Int64(min(time, .seconds(86_400)) / .microseconds(1)), reason: reason)
    }

    /// The remaining time of the rest.
    mutating func remainingPause(at now: Int64) -> (microseconds: Int64, reason: String)? {
        guard var rest, rest.until > now else { return nil }
        // If the clock was set back to before the rest began, the rest starts again now with the same length. No rest is longer than a day.
        let since = rest.since ?? rest.until - 24 * Self.hour
        if since > now {
            (rest.since, rest.until) = (now, now + rest.until - since)
            self.rest = rest
        }
        return (rest.until - now, rest.reason)
    }

    /// After a temporary failure: half a minute, two, eight, about half an hour, then an hour, plus up to a fifth.
    static let backOff = BackOff(first: .seconds(30), factor: 4, longest: .seconds(3_600), spread: 1...1.2)

    /// After 429 without a time: a quarter of an hour, then twice as long, at most an hour, plus up to a tenth.
    static let refusalBackOff = BackOff(first: .seconds(900), factor: 2, longest: .seconds(3_600), spread: 1...1.1)
}
