import Foundation
import PluginKit

/// What is kept between runs of the account that this instance sends to.
struct AccountState: Codable, Hashable, Sendable {
    /// Exist's user name: another one is another account.
    var username: String?
    /// The zone of the profile, which tells what today is.
    var zone: String?
    /// Whose days go there, by the hub's uid.
    var person: String?
    /// By the names of `attributes`.
    var ownership: [String: Ownership] = [:]
    /// When an update last went out.
    var updated: Int64?
    /// Until when nothing is called, and why.
    var rest: Rest?
    /// Failures one after the other.
    var setbacks = 0
    /// When calls of the last hour were made, oldest first.
    var calls: [Int64] = []
    /// When it was last looked up which attributes are ours.
    var listed: Int64?

    struct Rest: Codable, Hashable, Sendable {
        /// When it began; nil where an older version has written it.
        var since: Int64?
        var until: Int64
        var reason: String
    }

    struct Ownership: Codable, Hashable, Sendable {
        /// What Exist calls the attribute; nil while it is not ours.
        var name: String?
        /// Why it is not ours.
        var lost: String?
        /// When it was last taken back.
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

/// How many calls may be made in an hour, and how long to leave a service alone that fails.
///
/// Kept with the account: a program that is killed and started again must not begin to count again.
extension AccountState {
    private static let hour: Int64 = 3_600_000_000

    /// How long until another call is within the limit; nil: now.
    mutating func wait(for limit: Int, at now: Int64) -> Int64? {
        // A clock that was put back makes no call wait for longer than an hour.
        calls = calls.filter { $0 > now - Self.hour }.map { min($0, now) }
        guard calls.count >= limit else { return nil }
        return calls[calls.count - limit] + Self.hour - now + 1
    }

    /// The last call was answered: Exist may have counted it as late as this.
    mutating func answered(at now: Int64) {
        if let last = calls.last { calls[calls.count - 1] = max(last, now) }
    }

    /// Notes that nothing is to be called for a while.
    mutating func rest(for time: Duration, at now: Int64, _ reason: String) {
        rest = Rest(since: now, until: now + Int64(min(time, .seconds(86_400)) / .microseconds(1)), reason: reason)
    }

    /// What remains of the rest.
    mutating func restLeft(at now: Int64) -> (microseconds: Int64, reason: String)? {
        guard var rest, rest.until > now else { return nil }
        // A clock that was put back, after the rest began: it begins again now, and is as long as it was. None is longer than a day.
        let since = rest.since ?? rest.until - 24 * Self.hour
        if since > now {
            (rest.since, rest.until) = (now, now + rest.until - since)
            self.rest = rest
        }
        return (rest.until - now, rest.reason)
    }

    /// After a failure that may pass: half a minute, two, eight, about half an hour, then an hour, up to a fifth more.
    static let backOff = BackOff(first: .seconds(30), factor: 4, longest: .seconds(3_600), spread: 1...1.2)

    /// After 429 where the service names no time: a quarter of an hour, then twice as long, at most an hour, up to a tenth more.
    static let refusalBackOff = BackOff(first: .seconds(900), factor: 2, longest: .seconds(3_600), spread: 1...1.1)
}
