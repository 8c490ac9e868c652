import PhonePayloads
import PluginKit
import Synchronization

/// Reports the last refusal of each token in `hub status`, for a day and until a post succeeds.
///
/// Apps on phones do not show refusals, so people read them there. Good posts soon after a bad one do not clear the report.
final class RefusalReports: Sendable {
    private let hub: any IngestHub
    /// Tokens without a reported refusal, by this process or the one before it.
    private let settled = Mutex<Set<String>>([])
    /// In microseconds.
    private static let shownFor: Int64 = 86_400_000_000

    init(_ hub: any IngestHub) { self.hub = hub }

    func tell(_ report: IngestReport, of token: String) async {
        guard let first = report.rejected.first else { return await settle(token) }
        let place = "\(first.place)".isEmpty ? "" : " at \(first.place)"
        await tell(
            "\(report.rejections) refused\(report.rejections > 1 ? ", the first" : "")\(place): \(first.code), \(first.reason)",
            of: token)
    }

    func tell(_ text: String, of token: String) async {
        hub.logger.warning("a post is refused, or a part of it", metadata: ["token": "\(token)", "reason": "\(text)"])
        settled.withLock { _ = $0.remove(token) }
        try? await hub.state.set(Self.key(token), to: .integer(hub.clock.now()))
        await say(try? DeviceEvent("error", device: token, severity: .warning, text: text))
    }

    private func settle(_ token: String) async {
        guard !settled.withLock({ $0.contains(token) }) else { return }
        if let refused = try? await hub.state.integer(Self.key(token)) {
            guard hub.clock.now() - refused >= Self.shownFor else { return }
            try? await hub.state.set(Self.key(token), to: nil)
        }
        settled.withLock { _ = $0.insert(token) }
        await say(try? DeviceEvent("error", device: token, isResolved: true))
    }

    private static func key(_ token: String) -> String { "refused/\(token)" }

    private func say(_ event: DeviceEvent?) async {
        if let event { await hub.event(event) }
    }
}
