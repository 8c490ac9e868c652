import Samples

/// The way of one person's days to Exist: logs the exporter in, and judges what arrives.
struct DemoExporter: Sendable {
    let plan: DemoPlan
    let exist: ExistStandIn
    let door: String
    let story: DemoStory

    /// How long the exporter may take to be there, and the last days to arrive.
    private static let patience = Duration.seconds(30)

    func logIn(_ calendar: DemoCalendar) async throws {
        try await exist.follow(calendar)
        try await exist.logIn(door, patience: Self.patience)
        await story.say(["The exporter is logged in to Exist as \(exist.person), with a personal token."])
    }

    /// Waits until Exist has what it has to have, but not for ever.
    ///
    /// - Parameter records: all that the store holds.
    func days(_ records: [StoredRecord], on calendar: DemoCalendar) async throws -> DemoDays {
        let readings = DemoDays.readings(of: exist.person, plan, records)
        let (last, end) = (calendar.today, ContinuousClock.now + Self.patience)
        while true {
            let days = DemoDays(of: exist.person, readings, through: last, held: try await exist.weights() ?? [:])
            // The stand-in does not tell: it is asked.
            if days.problems.isEmpty || ContinuousClock.now > end { return days }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
