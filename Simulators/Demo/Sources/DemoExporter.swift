import Samples

/// Exports one person's days to Exist: logs the exporter in, and checks the result.
struct DemoExporter: Sendable {
    let plan: DemoPlan
    let exist: ExistStandIn
    let door: String
    let story: DemoStory

    /// How long the exporter may take to start, and the last days to arrive.
    private static let patience = Duration.seconds(30)

    func logIn(_ calendar: DemoCalendar) async throws {
        try await exist.follow(calendar)
        try await exist.logIn(door, patience: Self.patience)
        await story.say(["The exporter is logged in to Exist as \(exist.person), with a personal token."])
    }

    /// Waits until Exist has the expected days, up to a time limit.
    ///
    /// - Parameter records: all records in the store.
    func days(_ records: [StoredRecord], on calendar: DemoCalendar) async throws -> DemoDays {
        let readings = DemoDays.readings(of: exist.person, plan, records)
        let (last, end) = (calendar.today, ContinuousClock.now + Self.patience)
        while true {
            let days = DemoDays(of: exist.person, readings, through: last, held: try await exist.weights() ?? [:])
            // The stand-in sends no events, so this polls.
            if days.problems.isEmpty || ContinuousClock.now > end { return days }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
