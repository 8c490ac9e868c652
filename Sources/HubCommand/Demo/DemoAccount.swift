import HubCore

/// What a demonstration comes to.
struct DemoAccount: Hashable {
    /// Weighings that the scale has handed over, as far as it or the hub knows.
    let played: Int
    let stored: Int
    let rejected: Int
    let duplicates: Int
    let stoppedCleanly: Bool

    init(_ tally: ScaleProcess.Tally, _ account: HubStatus.AccountStatus?, stoppedCleanly: Bool) {
        stored = Int(account?.stored ?? 0)
        played = max(tally.handedOver, min(stored, tally.shown))
        rejected = Int(account?.rejected ?? 0)
        duplicates = Int(account?.duplicates ?? 0)
        self.stoppedCleanly = stoppedCleanly
    }

    /// Whether every weighing is stored, once, and nothing else went wrong.
    var addsUp: Bool { played > 0 && stored == played && rejected == 0 && stoppedCleanly }

    var line: String {
        let end = stoppedCleanly ? "the hub stopped cleanly" : "the hub did not stop cleanly"
        let counts = [
            "\(NumberText.count(played, "weight")) played", "\(NumberText.grouped(stored)) stored",
            "\(NumberText.grouped(rejected)) rejected", NumberText.count(duplicates, "duplicate"),
        ]
        let verdict = played == 0 ? "; the scale was never read" : stored == played ? "" : "; that does not add up"
        return "demo: \(counts.joined(separator: ", ")); \(end)\(verdict)"
    }
}
