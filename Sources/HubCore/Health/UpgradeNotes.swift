import HubStore
import Logging

/// Tells those who wait for the hub's start that it copies an older store and brings it up to date: the log, and the service manager.
struct UpgradeNotes {
    let notifier: ServiceNotifier?
    let logger: Logger
    private var stage: OpeningProgress.Stage?
    private var told = ContinuousClock.now

    /// A line of the log at each stage, and then one in so many seconds; the manager hears more often.
    private static let logged = Duration.seconds(10)
    private static let notified = Duration.seconds(1)
    /// How long the manager is to wait for the next sign; by `TimeoutStartSec` alone a large store would never get there.
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
