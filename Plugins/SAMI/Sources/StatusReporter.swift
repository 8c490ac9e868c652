import PluginKit

/// What keeps the plugin from its work, for the one line that `hub status` has for it.
///
/// Of several things that are wrong at a time the first of ``Part`` is told; when that is over, the next.
actor StatusReporter {
    enum Part: Int, CaseIterable, Sendable {
        /// The service cannot be used.
        case service
        /// Its limits are used up.
        case limits
        /// There is no live stream.
        case live
        /// What is posted goes another way than the settings say.
        case posts
        /// Its clock and ours show different times.
        case clock

        /// What goes on by itself, or another way, is only a warning.
        var severity: DeviceEvent.Severity { self == .service ? .error : .warning }
    }

    private let hub: PluginContext
    private var open: [Part: String] = [:]
    private var told: String?

    init(_ hub: PluginContext) { self.hub = hub }

    /// - Parameter text: one line: what is wrong, and what repairs it.
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

    /// Tells each new session again: a hub that was started again knows of nothing.
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
