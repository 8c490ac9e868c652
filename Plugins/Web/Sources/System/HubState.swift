import Foundation
import HTTPTypes
import PluginKit

/// The members of the answer to `status` that pages and metrics show.
struct HubState: Decodable {
    struct Store: Decodable {
        struct Check: Decodable {
            var read, pages: Int64
            var whole: String?
        }
        var path, state: String
        var error, warning: String?
        var free, size, log: Int64?
        var check: Check?

        var isWell: Bool { state == "ok" }
    }
    struct Backup: Decodable {
        var path: String
        var time: String?
        var behind: Int64?
    }
    struct Erasure: Decodable {
        var left, failed: Int64?
        var named: Int64
        var waitingFor: [String]
    }
    struct Memory: Decodable {
        var limit: Int64?
    }
    struct Plugin: Decodable {
        struct LogIn: Decodable {
            var account: String
            var user, expires, advice: String?
        }
        var name, kind, state: String
        var enabled, alive: Bool
        var remote, fresh, delivering, hasError, isFallback: Bool?
        var restartIn: Double?
        var restarts: Int
        var records: Int64
        var lastError, advice, lastRecord: String?
        var tokens: [LogIn]?
    }
    struct Device: Decodable {
        var instance, device: String
        var connected: Bool?
        var battery: Int?
        var batteryLow: Bool
        var lastError, lastErrorSeverity, lastErrorAt, lastHeard: String?
    }
    struct Session: Decodable {
        var instance, plugin, version, mode, endpoint: String
    }
    struct Sink: Decodable {
        var name, instance: String
        var open, well: Bool
        var counting: Bool?
        var note, oldestPending, nextRetry, lastDelivered, lastFailure, lastFailureReason: String?
        var wanted, delivered, pending, retrying, refused, superseded, skipped: Int64
        var cursor: String
        /// Counts by reason.
        var skips: [String: Int64]
    }
    var version, epoch, time, clock: String
    var head: Int64
    var uptime: Double
    var records, inbox, implausible: Int64?
    var store: Store
    var backup: Backup?
    var erasure: Erasure?
    var plugins: [Plugin]
    var sessions: [Session]
    var sinks: [Sink]
    var devices: [Device]
    var residentBytes: Int64
    var memory: Memory?
    var dropped: Int64

    init(_ answer: RawJSON) throws { self = try JSONDecoder().decode(Self.self, from: Data(answer.bytes)) }

    /// Seconds since a moment, by the hub's clock.
    func age(of moment: String?) -> Double? {
        guard let moment, let then = try? Timestamp(parsing: moment), let now = try? Timestamp(parsing: time) else {
            return nil
        }
        return max(0, Double(now.microseconds - then.microseconds) / 1_000_000)
    }

    /// The program version of an instance; nil if it has no session.
    func version(of instance: String) -> String? {
        sessions.first { $0.instance == instance && $0.endpoint != "owner" }?.version
    }
}

extension PluginContext {
    /// The hub's state, decoded and raw.
    ///
    /// - Throws: ``AskError``; ``RequestRefusal`` if the hub does not answer in time.
    func hubState(within limit: Duration = .seconds(10)) async throws -> (state: HubState, answer: RawJSON) {
        let answer = try await HubTimeLimit.run(limit) { try await self.ask(.status) }
        return (try HubState(answer), answer)
    }
}

/// Limits the time that a page waits for the hub.
enum HubTimeLimit {
    /// - Throws: errors of `body`; ``RequestRefusal`` after the time limit.
    static func run<Value: Sendable>(
        _ limit: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let value = first else {
                throw RequestRefusal(
                    .gatewayTimeout, "The hub does not answer",
                    "It may be starting, or busy with its disk. Open the page again in a moment; hub status says more.",
                    retryAfter: 5)
            }
            return value
        }
    }
}
