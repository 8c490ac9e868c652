import HealthText
import Foundation
import HubClient

/// The first and last lines of a demonstration.
struct DemoGreeting {
    /// The path of this program as it was started; `hub` is in its folder.
    ///
    /// `hub demo` starts it by the name that the person typed.
    let program: String
    let directory: DemoDirectory
    let plan: DemoPlan
    /// The real time of the whole month in seconds.
    let seconds: Int
    /// Whether hub and page stay until Ctrl-C.
    let stays: Bool
    /// The page of the stand-in for Exist; `nil` if there is none.
    var page: String?

    /// An absolute path for pasting in any folder; a bare name is found in PATH anywhere.
    private var hub: String {
        OwnerEndpoints.quoted(path)
    }

    private var path: String { folder + "hub" }

    private var folder: String {
        program.contains("/") ? URL(filePath: program).deletingLastPathComponent().path + "/" : ""
    }

    /// The stand-in for Exist, in the same folder.
    private var server: String {
        OwnerEndpoints.quoted(folder + "hub-exist-server")
    }

    private var choosing: String { "export HUB_CONF=\(OwnerEndpoints.quoted(directory.configuration))" }

    var first: [String] {
        let people = plan.household.map(\.name).joined(separator: ", ")
        let month =
            plan.days == DemoTime.longest
            ? DemoTime.month : "\(NumberText.count(plan.days, "day")) of \(DemoTime.month)"
        return [
            "A household of three (\(people)), three simulated scales with their",
            page == nil
                ? "connectors, a gap-filler and a hub (and Exist, when it is built), in"
                : "connectors, a gap-filler, an exporter, a stand-in for exist.io, and a hub, in",
            directory.path + (directory.isTemporary ? " (removed at the end)." : " (kept)."),
            "\(month) in \(NumberText.duration(seconds: Double(seconds))); Ctrl-C ends it early. From another terminal:",
            "", "  \(choosing)", "  \(hub) status", "  \(hub) inbox", "  \(hub) samples weight --last 5",
            "  \(hub) days weight --person \(plan.year.person)", "  \(hub) tap sample/ --json", "",
        ] + existing
    }

    /// The line with the address of the page.
    var existing: [String] {
        page.map { page in
            ["And in a browser, what Exist has of \(plan.year.person): \(page)/"]
                + (stays ? [] : ["It goes with the demo; --stay keeps it, and the hub, until Ctrl-C."]) + [""]
        } ?? []
    }

    /// The lines for a hub that stays after the month.
    func staying(_ day: String) -> [String] {
        let person = plan.year.person
        return [
            "", "It is \(day), and time passes as it does. The hub stays until Ctrl-C:", "", "  \(choosing)",
            "  \(hub) days weight --person \(person) --from 60d",
            "  \(hub) log weight \(plan.household[0].weight.lowerBound)kg --person \(person)",
            "  \(hub) do exist sync                  # else within the hour",
            "  \(hub) trace 1                        # from a weigh-in to Exist's receipts",
            "  \(hub) web                            # another link to the page",
            "  \(hub) replay --to exist --since 2025-03-01 --dry-run", "",
        ] + (page.map { ["  \($0)/", ""] } ?? [])
    }

    /// The lines for a folder that stays.
    var last: [String] {
        [
            "", "Kept in \(directory.path). To look around:", "", "  \(choosing)", "  \(hub) run &", "  \(hub) status",
            "  \(hub) inbox                         # then, as it says: hub assign NUMBER --to NAME",
            "  \(hub) samples weight --person anna", "  \(hub) days weight --person anna --from 2026-01-01",
            "  \(hub) trace 1",
            "  \(server) --state \(OwnerEndpoints.quoted(directory.existState)) --user \(plan.year.person)@\(DemoCalendar.zone)",
        ]
    }
}
