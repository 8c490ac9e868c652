import HubStore
import HubWire
import Logging
import Samples
import Synchronization
import ZeroMQ

/// The state of the store, from its answers and its free space; a failing or unresponsive disk is detected too.
///
/// A part of the door.
@DoorActor
final class StoreHealth {
    private let loop: PollLoop

    private let store: Store
    private let secrets: Result<SecretStore, StoreError>
    private let committer: Committer
    private let door: Door
    private let logger: Logger
    private let path: String

    /// The last failure of a commit, until one succeeds again.
    private var fault: StoreError?
    private var space = SpaceWatch()
    private var backup: KnownBackup?
    /// The open question to the store for `hub status`, and when it was asked.
    private var reading: (task: Task<Result<StoreStatus, StoreError>, Never>, began: Int64)?
    /// Whether it was logged that confirmed records stay in the store's write-ahead log.
    private var hasReportedCheckpoint = false
    /// Whether damage was reported.
    private var hasReportedDamage = false
    /// Whether records that were missing at the opening were reported.
    private var hasReportedLoss = false
    /// Records that were lost during the last days, while a person should know of it.
    private var loss: SequenceGap?

    /// How long a peer waits before it sends or asks again after a failure of the store, in milliseconds.
    static let retryAfter: Int64 = 2_000
    /// A healthy store answers at once, and `hub status` waits ten seconds.
    private static let readingPatience = Duration.seconds(4)
    /// The largest commit takes less on any working disk.
    private static let commitPatience = Duration.seconds(10)

    init(of door: Door) {
        (self.door, store, secrets, committer) = (door, door.store, door.secrets, door.committer)
        (loop, logger) = (door.loop, door.logger)
        path = door.facts.storePath
    }

    // MARK: - Commits

    func failed(_ error: StoreError) {
        if fault == nil { logger.error("the store does not work", metadata: ["error": "\(error)"]) }
        fault = error
    }

    func recovered() {
        guard fault != nil else { return }
        fault = nil
        logger.notice("the store works again")
    }

    // MARK: - Free space

    /// Notes the free space, reports changes, and checks whether a store that failed works again.
    func look(at room: StoreSpace?, newest backup: KnownBackup?) async {
        self.backup = backup
        if let room, let change = space.look(room, at: path) { tell(change.text, isGood: change.isGood) }
        await checkCheckpoint()
        await checkLoss()
        // Sources retry automatically; without a source, free space on a full disk would not be detected.
        guard fault != nil, (try? await store.checkWritable()) != nil else { return }
        recovered()
    }

    private func tell(_ text: String, isGood: Bool) {
        let level: Logger.Level = isGood ? .notice : .warning
        logger.log(level: level, "\(text)")
        door.feeds.announce(text, level, about: "store")
    }

    private func checkLoss() async {
        if hasReportedDamage != (store.damage != nil) {
            hasReportedDamage = store.damage != nil
            tell(
                damage ?? "the store was found whole, and the hub confirms again", isGood: !hasReportedDamage)
        }
        if !hasReportedLoss {
            hasReportedLoss = true
            if let found = store.loss { tell(found.text, isGood: found.cause == .power) }
            loss = try? await store.gaps().first { $0.cause == .lost }
        }
        if let known = loss, door.facts.clock.now() - known.at > SequenceGap.newsLifetime { loss = nil }
    }

    /// Retries a failed checkpoint, and reports when it fails and when it works again.
    private func checkCheckpoint() async {
        if store.checkpointFault != nil { try? await store.checkpoint() }
        let fault = store.checkpointFault
        guard (fault != nil) != hasReportedCheckpoint else { return }
        hasReportedCheckpoint = fault != nil
        if let warning = checkpointWarning {
            logger.error("\(warning)")
        } else {
            logger.notice("the store's log can be brought into its file again")
        }
    }

    /// Conditions that will become failures, with their remedies.
    private var warning: String? {
        let warnings = [loss?.text, checkpointWarning, space.warning(path)].compactMap { $0 }
        return warnings.isEmpty ? nil : warnings.joined(separator: "; ")
    }

    private var checkpointWarning: String? {
        store.checkpointFault.map {
            "confirmed records are safe in the log beside the store, but the log grows, because it cannot be brought into the file: \($0.message)"
        }
    }

    private var damage: String? {
        store.damage.map {
            "nothing is confirmed since damage was found: \($0). hub doctor --deep reads the whole store; then stop the hub and run hub restore BACKUP"
        }
    }

    /// One line for the service manager, which also proves that the poll loop runs.
    func serviceStatus() -> String {
        let complaint = damage ?? fault.map { "the store does not work: \($0.message)" } ?? warning
        if let complaint { return complaint }
        let enabled = door.facts.plugins.filter(\.enabled)
        let alive = enabled.count { door.plugins.counters[$0.name].sessions > 0 }
        return "newest sequence \(store.head); \(alive) of \(enabled.count) plugins alive"
    }

    // MARK: - For `hub status`

    /// The newest backup; `nil` if there is none.
    var backupStatus: HubStatus.Backup? {
        let cursor = store.cursor
        return backup.map { HubStatus.Backup($0, epoch: cursor.epoch, head: cursor.sequence) }
    }

    /// The data from the store, if it can be read, and the state of the store.
    func read() async -> (StoreStatus?, HubStatus.StoreState) {
        let result = await answer()
        var state = HubStatus.StoreState(
            path: path, state: "ok", free: space.room?.free, size: space.room?.size, log: space.room?.log,
            warning: warning)
        let check = store.checked
        if check.pages > 0 {
            state.check = HubStatus.Check(
                read: check.next - 1, pages: check.pages,
                whole: check.whole.map { Timestamp(microseconds: $0, offsetMinutes: 0).text })
        }
        if let damage {
            (state.state, state.error) = ("corrupt", damage)
        } else if let fault {
            (state.state, state.error) = ("\(fault.code)", fault.message)
        } else if let age = committer.age, age > Self.commitPatience {
            (state.state, state.error) = ("hanging", hanging("a commit", age))
        } else if case .failure(let fault) = result {
            (state.state, state.error) = ("\(fault.code)", fault.message)
        } else if result == nil {
            let now = door.now
            let age = Duration.milliseconds(now - (reading?.began ?? now))
            (state.state, state.error) = ("hanging", hanging("reading", age))
        }
        return (try? result?.get(), state)
    }

    private func hanging(_ what: String, _ age: Duration) -> String {
        "\(what) has not returned for \(age.components.seconds) s: the disk of \(path) does not answer, or far too slowly. "
            + "See dmesg, and check its connection and mount; "
            + "the hub continues when the disk does, and stopping it would not help"
    }

    /// `nil` if no answer comes in time; the question stays open, and the next caller waits for the same answer.
    private func answer() async -> Result<StoreStatus, StoreError>? {
        let reading = reading?.task ?? beginReading()
        return await withCheckedContinuation { continuation in
            let waiter = FirstResult(continuation)
            loop.schedule(after: Self.readingPatience) { waiter.resume(nil) }
            Task { waiter.resume(await reading.value) }
        }
    }

    private func beginReading() -> Task<Result<StoreStatus, StoreError>, Never> {
        let task = Task {
            let result: Result<StoreStatus, StoreError>
            do throws(StoreError) {
                let tokens = try? await secrets.get().overview()
                result = .success(
                    StoreStatus(
                        accounts: try await store.accounts(), records: try await store.recordCount(),
                        inbox: try await store.inboxCount(),
                        implausible: try await store.implausibleCount(),
                        sinks: try await store.sinks(), types: try await store.measuredTypes(),
                        persons: try await store.persons(), tokens: tokens ?? [],
                        erasure: try await HubStatus.Erasure(of: store)))
            } catch {
                result = .failure(error)
            }
            reading = nil
            return result
        }
        reading = (task, door.now)
        return task
    }
}

/// The data from the store for `hub status`.
struct StoreStatus: Sendable {
    var accounts: [IntakeCounts]
    var records, inbox, implausible: Int64
    var sinks: [SinkOverview]
    /// The types that have samples of persons, and those that have day values.
    var types: (samples: Set<String>, days: Set<String>)
    var persons: [Person]
    var tokens: [TokenOverview]
    var erasure: HubStatus.Erasure?
}

extension HubStatus.Erasure {
    fileprivate init?(of store: Store) async throws(StoreError) {
        let (state, waiting) = (try await store.erasure(), try await store.namedErasures())
        let faults = try await store.erasureFaults()
        guard state != nil || waiting.records > 0 || faults.count > 0 else { return nil }
        self.init(
            records: state?.total, left: state?.left, named: waiting.records,
            waitingFor: waiting.sinks.map(\.description), failed: faults.count > 0 ? faults.count : nil,
            faults: faults.count > 0 ? faults.first.map(ErasureFailure.init) : nil)
    }
}

/// Resumes its continuation with the first value.
private final class FirstResult<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, Never>?>

    init(_ continuation: CheckedContinuation<Value, Never>) { self.continuation = Mutex(continuation) }

    func resume(_ value: Value) {
        continuation.withLock { $0.take() }?.resume(returning: value)
    }
}
