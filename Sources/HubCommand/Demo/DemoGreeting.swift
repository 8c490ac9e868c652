import Foundation

/// What a demonstration says first, and last.
struct DemoGreeting {
    /// As the person typed it.
    let program: String
    let directory: DemoDirectory
    let plan: DemoPlan
    /// Real time of the whole month.
    let seconds: Int

    /// Absolute, so that it can be pasted in any folder; a bare name is found in PATH anywhere.
    private var hub: String {
        OwnerEndpoints.quoted(program.contains("/") ? URL(filePath: program).path : program)
    }

    private var choosing: String { "export HUB_CONF=\(OwnerEndpoints.quoted(directory.configuration))" }

    var first: [String] {
        let people = plan.household.map(\.name).joined(separator: ", ")
        let month =
            plan.days == DemoTime.longest
            ? DemoTime.month : "\(NumberText.count(plan.days, "day")) of \(DemoTime.month)"
        return [
            "A household of three (\(people)), three simulated scales with their",
            "connectors, and a hub, in \(directory.path)"
                + (directory.isTemporary ? " (removed at the end)." : " (kept)."),
            "\(month) in \(NumberText.duration(seconds: Double(seconds))); Ctrl-C ends it early. From another terminal:",
            "", "  \(choosing)", "  \(hub) status", "  \(hub) inbox", "  \(hub) samples weight --last 5",
            "  \(hub) tap sample/ --json",
        ]
    }

    /// For the curious, when the folder stays.
    var last: [String] {
        [
            "", "Kept in \(directory.path). To look around:", "", "  \(choosing)", "  \(hub) run &", "  \(hub) status",
            "  \(hub) inbox                         # and what it says: hub assign NUMBER --to NAME",
            "  \(hub) samples weight --person anna", "  \(hub) trace 1",
        ]
    }
}
