import PhonePayloads
import PluginKit
import Synchronization

/// What `hub status` says of each token: what was refused, until something comes of which nothing is.
///
/// Apps on phones do not show what was refused; the people of the hub read it there.
final class Complaints: Sendable {
    private let hub: any IngestHub
    /// Of whom the hub knows nothing bad from this process or the one before it.
    private let settled = Mutex<Set<String>>([])

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
        await say(try? DeviceEvent("error", device: token, severity: .warning, text: text))
    }

    private func settle(_ token: String) async {
        guard settled.withLock({ $0.insert(token).inserted }) else { return }
        await say(try? DeviceEvent("error", device: token, isResolved: true))
    }

    private func say(_ event: DeviceEvent?) async {
        if let event { await hub.event(event) }
    }
}
