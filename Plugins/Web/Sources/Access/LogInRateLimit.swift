import Synchronization

/// Limits failed log-ins.
final class LogInRateLimit: Sendable {
    /// Maximum failures of one address in a minute.
    private static let most = 10
    private static let time = Duration.seconds(60)
    /// Maximum number of addresses remembered; beyond it new addresses must wait too.
    private static let addresses = 1_000

    private let failures = Mutex<[String: [ContinuousClock.Instant]]>([:])

    /// Whether an address may try again.
    func mayTry(_ address: String, at now: ContinuousClock.Instant = .now) -> Bool {
        failures.withLock { failures in
            for (address, times) in failures {
                let recent = times.filter { $0 + Self.time > now }
                failures[address] = recent.isEmpty ? nil : recent
            }
            guard let times = failures[address] else { return failures.count < Self.addresses }
            return times.count < Self.most
        }
    }

    func fail(_ address: String, at now: ContinuousClock.Instant = .now) {
        failures.withLock { $0[address, default: []].append(now) }
    }
}
