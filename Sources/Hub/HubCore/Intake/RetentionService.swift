import HubStore
import HubWire
import Logging
import Samples
import Synchronization

/// Carries out the retention rules of `hub.conf`: some minutes after the start and then every hour, in small steps.
actor RetentionService {
    private let store: Store
    private let committer: Committer
    private let clock: HubClock
    private let logger: Logger
    private var isAtWork = false
    /// The last result of each rule, by its name.
    private nonisolated let last = Mutex<[String: RetentionCount]>([:])
    private(set) var watch: ClockWatch
    /// Why the rules are suspended; `nil` if they are not.
    private nonisolated let doubt = Mutex<String?>(nil)

    /// A hub that has just started serves waiting clients first.
    private static let beginning = Duration.seconds(300)
    /// The time between two turns.
    private static let interval = Duration.seconds(3_600)
    /// The pause between two steps, each of which is a transaction; other records are stored meanwhile.
    private static let pause = Duration.milliseconds(20)

    init(store: Store, committer: Committer, clock: HubClock, logger: Logger) {
        (self.store, self.committer, self.clock, self.logger) = (store, committer, clock, logger)
        watch = ClockWatch(believed: store.believedAtOpening ?? clock.now(), steady: clock.steadyNow())
    }

    /// - Parameter commands: provides the current rules of `hub.conf` and the declared types.
    func run(until leaving: Latch, for commands: Commands) async {
        await finishThinning(until: leaving)
        await leaving.wait(upTo: Self.beginning)
        while !leaving.isRaised {
            await finishThinning(until: leaving)
            await follow(
                await commands.facts.retention, await commands.knownTypes, await commands.zones, until: leaving)
            await leaving.wait(upTo: Self.interval)
        }
    }

    /// Carries out all rules once.
    func follow(
        _ rules: [RetentionRule], _ types: TypeRegistry, _ zones: [String: String], until leaving: Latch
    ) async {
        do {
            // A hub without rules also remembers when its clock was right, for the day on which it gets a rule.
            if rules.isEmpty { _ = try await lead() }
            for rule in rules where !leaving.isRaised {
                _ = try await carryOut(rule, types, zones, until: leaving)
            }
        } catch {
            // A store that fails is reported elsewhere.
            logger.debug("retention waits", metadata: ["reason": "\(error)"])
        }
    }

    /// Finishes a thinning that a kill interrupted, even if `hub.conf` no longer has the rule.
    private func finishThinning(until leaving: Latch) async {
        do {
            try await store.finishThinning {
                try? await Task.sleep(for: Self.pause)
                return !leaving.isRaised && !Task.isCancelled
            }
        } catch {
            // A store that fails is reported elsewhere.
            logger.debug("retention waits", metadata: ["reason": "\(error)"])
        }
    }

    /// The last results of the rules.
    nonisolated func reports(on rules: [RetentionRule]) -> [RetentionReport] {
        last.withLock { last in
            rules.compactMap { rule in last[rule.name].map { RetentionReport(rule.name, $0) } }
        }
    }

    /// Why the rules are suspended; `nil` if they are not.
    nonisolated var held: String? { doubt.withLock { $0 } }

    /// Accepts the clock as right, because a person said so.
    func trustClock() async throws(StoreError) {
        let now = clock.now()
        watch.trust(now: now, steady: clock.steadyNow())
        doubt.withLock { $0 = nil }
        try await store.acceptClock(now, replacing: true)
    }

    /// Believes the clock unless it is too far ahead.
    ///
    /// - Returns: the lead of the clock in microseconds; `nil` if it is believed.
    private func lead() async throws(StoreError) -> Int64? {
        let (now, steady) = (clock.now(), clock.steadyNow())
        if let lead = watch.lead(now: now, steady: steady) { return lead }
        let isBehind = watch.isBehind(now: now, steady: steady)
        if isBehind { watch.trust(now: now, steady: steady) }
        doubt.withLock { $0 = nil }
        try await store.acceptClock(now, replacing: isBehind)
        return nil
    }

    /// - Throws: `clock` while the clock is too far ahead to decide that records are old.
    private func checkClock() async throws {
        guard let lead = try await lead() else { return }
        let reason =
            "the clock shows \(clock.time.text), \(lead / 86_400_000_000) days ahead of when it was last trusted "
            + "plus the time since: set it if it is wrong; if it is right, as after the hub was off for that time, run hub retention --clock-is-right"
        let isNew = doubt.withLock { doubt in
            defer { doubt = reason }
            return doubt == nil
        }
        if isNew { logger.warning("no records are thinned or removed", metadata: ["reason": "\(reason)"]) }
        throw OwnCommandFailure("clock", reason)
    }

    /// The effect that the rules, or one of them, would have now, each after those before it.
    func look(at rules: [RetentionRule], only name: String?, _ zones: [String: String]) async throws -> [RetentionCount]
    {
        try await store.count(rules, where: { name == nil || $0.name == name }, now: clock.now(), zones: zones)
    }

    /// Carries out a rule now.
    ///
    /// - Throws: `busy` while it is in progress, `clock` while the clock is not believed.
    /// - Parameters:
    ///   - types: the standard types and those that programs have declared.
    ///   - zones: the time zones of persons, by name.
    func carryOut(
        _ rule: RetentionRule, _ types: TypeRegistry, _ zones: [String: String], until leaving: Latch? = nil
    ) async throws -> RetentionCount {
        guard !isAtWork else {
            throw OwnCommandFailure("busy", "retention is running; hub status shows its last result")
        }
        isAtWork = true
        defer { isAtWork = false }
        try await Self.refuseErasure(store)
        try await checkClock()
        var fault: (any Error)?
        let count = try await store.retain(
            rule, now: clock.now(), zones: zones,
            thin: { [committer] day in
                guard let type = types.type(day.type) else {
                    let reason =
                        "\(day.type.rawValue) is declared by no program that has connected since the hub's start: whether a day has the sum or the mean is not known"
                    return ManualResult(number: 0, result: .rejected(RecordRejection(.type, reason)))
                }
                let change = ManualChange.thin(day, isCumulative: type.aggregation == .cumulative)
                guard let results = try await committer.carryOut(change)
                else { throw OwnCommandFailure("stopping", "the hub is stopping; it goes on later") }
                return results.first
            },
            pause: { [store] in
                try? await Task.sleep(for: Self.pause)
                guard leaving?.isRaised != true, !Task.isCancelled else { return false }
                do { try await Self.refuseErasure(store) } catch { fault = error }
                return fault == nil
            })
        last.withLock { $0[rule.name] = count }
        if count.thinned + count.removed > 0 {
            logger.notice(
                "a retention rule has thinned or removed records",
                metadata: [
                    "rule": "\(rule.name)", "thinned": "\(count.thinned)", "removed": "\(count.removed)",
                    "waiting": "\(count.waiting)", "left": "\(count.left)",
                ])
        }
        if let fault { throw fault }
        return count
    }

    /// - Throws: `busy` while records are being erased: records thinned meanwhile would live on in a day value.
    private static func refuseErasure(_ store: Store) async throws {
        guard try await store.erasure() == nil else {
            throw OwnCommandFailure(
                "busy", "records are being erased; hub status shows the progress, and the last result of retention")
        }
    }
}
