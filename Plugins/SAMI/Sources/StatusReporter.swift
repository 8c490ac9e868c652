import PluginKit

/// Reports problems in the plugin's one line of `hub status`.
///
/// If there are several problems, it shows the first in the order of ``Part``, and the next one when that is resolved.
actor StatusReporter {
    enum Part: Int, CaseIterable, Sendable {
        /// The service is unavailable.
        case service
        /// The service's limits are used up.
        case limits
        /// There is no live stream.
        case live
        /// Records are posted by another way than the settings say.
        case posts
        /// The service's clock and ours differ.
        case clock

        /// A problem that ends without help or has a fallback is only a warning.
        var severity: DeviceEvent.Severity { self == .service ? .error : .warning }
    }

    private let hub: PluginContext
    private var open: [Part: String] = [:]
    private var told: String?

    init(_ hub: PluginContext) { self.hub = hub }

    /// - Parameter text: one line: the problem and its remedy.
    func tell(_ part: Part, _ text: String) async {
        if open[part] == nil { hub.logger.warning("something is wrong", metadata: ["reason": "\(text)"]) }
        open[part] = text
        await say()
    }

    func end(_ part: Part) async {
        guard open.removeValue(forKey: part) != nil else { return }
        hub.logger.notice("it is well again", metadata: ["part": "\(part)"])
        await say()
    }

    /// Reports open problems again in each new session, because a restarted hub knows none.
    func follow() async throws {
        var known = hub.sessionCount
        while true {
            try await hub.untilSession(beyond: known)
            known = hub.sessionCount
            told = nil
            if !open.isEmpty { await say() }
        }
    }

    private func say() async {
        let part = Part.allCases.first { open[$0] != nil }
        let text = part.flatMap { open[$0] }
        guard text != told else { return }
        told = text
        let event =
            try? part.map { try DeviceEvent("error", severity: $0.severity, text: text) }
            ?? DeviceEvent("error", isResolved: true)
        if let event { await hub.event(event) }
    }
}
