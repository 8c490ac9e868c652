import HTTPTypes
import PluginKit

extension HubStatus {
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
    /// - Throws: ``AskError``; ``RequestRefusal`` if the hub does not answer in time.
    func hubStatus(within limit: Duration = .seconds(10)) async throws -> HubStatus {
        try await HubTimeLimit.run(limit) { try await self.ask(.status, as: HubStatus.self) }
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
