import PluginKit

/// Sleeps until the next day of a person begins or there is a new session, then updates the days.
struct MidnightTimer: Sendable {
    let keeper: DayUpdater
    let hub: PluginContext

    /// Another process may set the machine's clock during the sleep; this limits how late a midnight is noticed.
    private static let longest = Duration.seconds(300)

    func run() async throws {
        await keeper.untilOpen()
        while !Task.isCancelled, !hub.isStopping {
            let known = hub.sessionCount
            let pause = await pause()
            try await withThrowingTaskGroup { group in
                group.addTask { try await Task.sleep(for: pause) }
                group.addTask { [hub] in try await hub.untilSession(beyond: known) }
                try await group.next()
                group.cancelAll()
            }
            try await keeper.turn()
        }
    }

    /// Pause after everything was read, so that those records can be delivered.
    private static let quiet = Duration.seconds(2)

    /// The pause by the machine's clock.
    private func pause() async -> Duration {
        if await keeper.mustLook { return Self.quiet }
        let clock = hub.clock
        guard let next = await keeper.nextDay() else { return Self.longest }
        return min(clock.realDuration(forVirtual: .microseconds(max(0, next - clock.now()) + 1)), Self.longest)
    }
}
