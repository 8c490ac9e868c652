import HubStore
import Logging

/// Reports to the log and the service manager that the starting hub copies an older store and upgrades it.
struct UpgradeNotes {
    let notifier: ServiceNotifier?
    let logger: Logger
    private var stage: OpeningProgress.Stage?
    private var told = ContinuousClock.now

    /// The log gets a line at each stage and after this interval; the manager gets one more often.
    private static let logged = Duration.seconds(10)
    private static let notified = Duration.seconds(1)
    /// How long the manager should wait for the next sign; `TimeoutStartSec` alone is too short for a large store.
    private static let patience = "300000000"
    private var notifiedAt: ContinuousClock.Instant?

    init(notifier: ServiceNotifier?, logger: Logger) { (self.notifier, self.logger) = (notifier, logger) }

    mutating func note(_ progress: OpeningProgress) {
        let now = ContinuousClock.now
        let isNew = progress.stage != stage
        stage = progress.stage
        let text = UpgradeNotes.text(progress)
        if isNew || now - told >= UpgradeNotes.logged {
            told = now
            logger.notice("the store is of an older hub", metadata: ["doing": "\(text)"])
        }
        if isNew || notifiedAt.map({ now - $0 >= UpgradeNotes.notified }) ?? true {
            notifiedAt = now
            notifier?.tell(("EXTEND_TIMEOUT_USEC", UpgradeNotes.patience), ("STATUS", "starting: " + text))
        }
    }

    static func text(_ progress: OpeningProgress) -> String {
        let (done, total) = (progress.copied.done, progress.copied.total)
        let part = total > 0 ? "\(done * 100 / total) % of \(max(1, total / 1_000_000)) MB" : "0 %"
        return switch progress.stage {
        case .summing: "it is copied once, so that each of its pages has a sum: \(part)"
        case .keeping: "it is copied, to be kept as it was: \(part)"
        case .upgrading: "it is brought up to date"
        }
    }
}
