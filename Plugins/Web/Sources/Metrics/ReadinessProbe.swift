import PluginKit

/// Whether pages could show data now: there is a session, and the hub's store works.
///
/// It needs no log-in, so the hub is asked at most once a second.
actor ReadinessProbe {
    private static let patience = Duration.seconds(2)
    private static let lifetime = Duration.seconds(1)

    private let hub: PluginContext
    private var known: (isReady: Bool, until: ContinuousClock.Instant)?
    private var asking: Task<Bool, Never>?

    init(hub: PluginContext) { self.hub = hub }

    var isReady: Bool {
        get async {
            if let known, known.until > .now { return known.isReady }
            if let asking { return await asking.value }
            let task = Task { [hub] in await Self.ask(hub) }
            asking = task
            let isReady = await task.value
            (asking, known) = (nil, (isReady, .now + Self.lifetime))
            return isReady
        }
    }

    private static func ask(_ hub: PluginContext) async -> Bool {
        do {
            return try await hub.hubStatus(within: patience).store.isWell
        } catch let error as AskError where error.error?.code == .forbidden {
            // The hub has answered, but hub.conf does not let this plugin read its status.
            return true
        } catch { return false }
    }
}
