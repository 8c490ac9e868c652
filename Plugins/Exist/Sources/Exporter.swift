import CloudClient
import PluginKit

/// Sends one person's days to one account of Exist, and remembers what Exist holds.
///
/// Each run asks the hub for all days there are, so that what belongs together goes out together, however it was delivered.
actor Exporter {
    let hub: PluginContext
    let settings: ExistSettings
    let service: ExistService
    private let keeper: TokenKeeper
    private let turn = Turn()
    var account: AccountState
    var held: HeldDays
    private var shelf = Shelf()
    /// Since when a value waits for others.
    private var gathering: Int64?

    /// The plugin's own name of its one account.
    static let accountName = "me"

    init(_ hub: PluginContext) async throws {
        (self.hub, settings) = (hub, try ExistSettings(hub.settings))
        let service = ExistService(settings, pace: Pace(hub))
        (account, held) = (try AccountState.read(hub.state), try HeldDays(hub.state))
        keeper = TokenKeeper(hub, account: Self.accountName, margin: .seconds(300)) { old in
            try await service.refreshed(old, at: hub.clock.now())
        }
        self.service = service
    }

    /// Runs `body` when nothing else of the account is at work.
    func alone<Value: Sendable>(_ body: (isolated Exporter) async throws -> Value) async throws -> Value {
        await turn.take()
        do {
            let value = try await body(self)
            await turn.giveBack()
            return value
        } catch {
            await turn.giveBack()
            throw error
        }
    }

    var now: Int64 { hub.clock.now() }

    /// Today where the user of Exist is; nil until Exist has said where.
    var today: LocalDate? {
        account.zone.flatMap { LocalDay.of(hub.clock.time, sampleZone: nil, personZone: $0, policy: .fixed) }
    }

    var judge: DayJudge? { today.map { DayJudge(settings: settings, today: $0) } }

    // MARK: - Deliveries

    func deliver(_ records: [DeliveredRecord]) async throws -> [DeliveryResult] {
        try await alone { try await $0.take(records) }
    }

    private func take(_ records: [DeliveredRecord]) async throws -> [DeliveryResult] {
        var end: DeliveryResult?
        let isFirst = judge == nil
        if isFirst { end = try await attempt { try await $0.lookUp() } }
        guard let judge else {
            let later = end ?? .retry(after: 60_000, reason: "Exist has not told the user's time zone yet")
            return records.map { stranger($0) ?? later }
        }
        let verdicts = records.map { record -> DayVerdict in
            if let refusal = stranger(record), case .refused(let reason) = refusal { return .never(reason) }
            return judge.verdict(on: record.stored)
        }
        let isDue = verdicts.contains { verdict in
            if case .send(let key, let value) = verdict { answer(key, value) == nil } else { false }
        }
        if isDue {
            end = notYet()
            if end == nil { end = try await attempt { try await $0.synchronize(isLookedUp: isFirst) } }
        }
        var results: [DeliveryResult] = []
        for (record, verdict) in zip(records, verdicts) { results.append(try await result(record, verdict, end)) }
        return results
    }

    /// What is answered to another person's record: it never leaves.
    private func stranger(_ record: DeliveredRecord) -> DeliveryResult? {
        guard let known = account.person, record.person?.uid != known else { return nil }
        return .refused(
            reason:
                "this instance has sent another person's days to its account; hub do \(hub.instance) forget begins anew"
        )
    }

    private func result(
        _ record: DeliveredRecord, _ verdict: DayVerdict, _ end: DeliveryResult?
    ) async throws -> DeliveryResult {
        switch verdict {
        case .never(let reason): return .refused(reason: reason)
        case .later: return .retry(after: untilTomorrow, reason: "its day has not come where the user is")
        case .gone(let key): return try await takeBack(key)
        case .send(let key, let value):
            if let known = answer(key, value) { return known }
            if let end { return end }
            // Sent, but as the value that the hub has by now; the delivery of that one follows.
            if held[key].confirmed != nil, held[key].possible == nil {
                return .delivered(receipt: receipt(key) + ", in a newer version")
            }
            return .retry(after: 60_000, reason: "Exist's answer did not say what became of it")
        }
    }

    /// What is known of a value already; nil when it has to be sent.
    private func answer(_ key: DayKey, _ value: ExistValue) -> DeliveryResult? {
        let known = held[key]
        if known.has(value) { return .delivered(receipt: receipt(key)) }
        if let refused = known.refused, refused.digits == value.digits { return .refused(reason: refused.reason) }
        if let lost = account.ownership[key.attribute]?.lost { return .refused(reason: lost) }
        return nil
    }

    private func receipt(_ key: DayKey) -> String { "\(account.username ?? "?")/\(key.attribute)/\(key.date.text)" }

    /// A day that the hub has no value of any more: Exist keeps what it has, and cannot be emptied.
    private func takeBack(_ key: DayKey) async throws -> DeliveryResult {
        guard held[key].mayHold else { return .delivered(receipt: receipt(key) + ": there was nothing") }
        if held[key].isOrphaned != true {
            held[key].isOrphaned = true
            try await save([key.month])
            await tell(
                "orphaned", .info,
                "Exist keeps its value of \(key.attribute) on \(key.date.text), which the hub has no more: Exist cannot be "
                    + "emptied. hub do \(hub.instance) overwrite puts another there.")
        }
        return .delivered(receipt: receipt(key) + ": orphaned, Exist keeps what it has")
    }

    /// Until there is a new day, and at least a minute.
    private var untilTomorrow: Int64 {
        guard let zone = account.zone, let today else { return 60_000 }
        // No zone skips more than a day, and none has a day of more than 26 hours.
        for minutes in stride(from: Int64(1), to: 26 * 60, by: 15) {
            let time = Timestamp(microseconds: now + minutes * 60_000_000)
            if let day = LocalDay.of(time, sampleZone: nil, personZone: zone, policy: .fixed), day > today {
                return minutes * 60_000
            }
        }
        return 3_600_000
    }

    /// Why nothing is sent now; nil when it may be.
    private func notYet() -> DeliveryResult? {
        if settings.isDryRun {
            return .retry(
                after: 3_600_000, reason: "dry_run is set: hub do \(hub.instance) plan shows what would be sent")
        }
        if let rest = restResult { return rest }
        if let updated = account.updated, updated <= now {
            let left = Int64(settings.interval / .microseconds(1)) - (now - updated)
            if left > 0 {
                return .retry(
                    after: left / 1_000 + 1, reason: "Exist wants no update more often than it gets (interval)")
            }
        }
        let since = min(gathering ?? now, now)
        gathering = since
        let left = Int64(settings.gather / .microseconds(1)) - (now - since)
        return left > 0
            ? .retry(after: left / 1_000 + 1, reason: "what belongs together is gathered for one call") : nil
    }

    private var restResult: DeliveryResult? {
        account.restLeft(at: now).map { .retry(after: $0.microseconds / 1_000 + 1, reason: $0.reason) }
    }

    /// Runs calls; what goes wrong becomes the answer to what was not settled before.
    private func attempt(_ body: (isolated Exporter) async throws -> Void) async throws -> DeliveryResult? {
        do {
            try await body(self)
            return nil
        } catch let trouble as Trouble {
            switch trouble {
            case .logIn(let reason), .mixedUp(let reason): return .unauthorized(reason: reason)
            case .resting: return restResult ?? .retry(after: 60_000, reason: "Exist did not answer as it should")
            }
        }
    }

    // MARK: - A run

    /// Brings Exist up to what the hub has.
    /// - Parameter isLookedUp: the profile has just been asked for.
    func synchronize(isLookedUp: Bool = false) async throws {
        if !isLookedUp { try await lookUp() }
        try await own()
        try await refreshShelf()
        guard let plan = plan(), plan.isNeeded else { return }
        for chunk in plan.chunks { try await send(chunk) }
        gathering = nil
        account.updated = now
        let forgotten = held.forget(before: (today ?? LocalDate(daysSinceEpoch: 0)).adding(days: -settings.days - 60))
        try await save(forgotten)
        hub.logger.info(
            "Exist is up to date",
            metadata: [
                "values": "\(plan.items.count)", "calls": "\(plan.chunks.count)", "orphaned": "\(plan.orphaned.count)",
            ])
    }

    func refreshShelf() async throws {
        var fresh = shelf
        do {
            try await fresh.refresh(hub, settings)
        } catch let error as AskError where error.code == .stopping {
            throw CancellationError()
        }
        shelf = fresh
        // Whose they are is decided by the first that are sent, and holds from then on.
        if account.person == nil, let first = shelf.days.values.first?.assignment.person?.uid {
            account.person = first
            try await save()
        }
    }

    /// What would be sent now, of one person's days.
    func plan() -> SyncPlan? {
        guard let judge else { return nil }
        let mine = shelf.days.values.filter { $0.assignment.person?.uid == account.person }
        let usable = Set(settings.attributes.map(\.name)).filter { account.ownership[$0]?.lost == nil }
        return SyncPlan(mine, held: held, judge: judge, usable: usable)
    }

    /// Asks who is logged in, and where they are.
    func lookUp() async throws {
        let profile: ExistService.Profile = try await read(ExistService.profile)
        guard account.username == nil || account.username == profile.username else {
            throw Trouble.mixedUp(otherAccount(profile.username))
        }
        if let local = profile.local_time.flatMap({ try? Timestamp(parsing: $0) }),
            abs(local.microseconds - now) > 120_000_000
        {
            hub.logger.warning("the clock of Exist and that of the hub differ by more than two minutes")
        }
        guard account.username != profile.username || account.zone != profile.timezone else { return }
        (account.username, account.zone) = (profile.username, profile.timezone)
        try await save()
    }

    func otherAccount(_ name: String) -> String {
        "\(name) is logged in, and this instance sends to the account \(account.username ?? "?"): log in as that one, or run "
            + "hub do \(hub.instance) forget first"
    }

    /// A token to use.
    /// - Throws: ``Trouble``; `CancellationError`.
    func token(insteadOf refused: OAuthToken? = nil) async throws -> OAuthToken {
        do {
            return try await keeper.token(insteadOf: refused)
        } catch let error as TokenError {
            if error.needsLogIn { throw Trouble.logIn(error.message) }
            throw try await setback(error.message, hadNoEffect: true)
        } catch let error as AskError {
            if error.code == .stopping { throw CancellationError() }
            throw try await setback("the hub gave no token: \(error)", hadNoEffect: true)
        }
    }

    // MARK: - State

    /// Keeps the account, and the days of some months, in one commit.
    func save(_ months: Set<String> = []) async throws {
        let entries = try held.entries(of: months)
        let entry = try account.entry()
        try await hub.state.transaction { state in
            try state.set(AccountState.key, to: entry)
            for (name, value) in entries { try state.set(name, to: value) }
        }
    }

    func tell(_ event: String, _ severity: DeviceEvent.Severity, _ text: String) async {
        hub.logger.warning("\(event)", metadata: ["text": "\(text)"])
        guard let event = try? DeviceEvent(event, severity: severity, text: text) else { return }
        await hub.event(event)
    }

    /// Begins with another account, or another person.
    func forget() async throws {
        let months = Set(held.days.keys.map(\.month))
        let calls = account.calls
        (account, held, shelf) = (AccountState(), HeldDays(), Shelf())
        account.calls = calls
        try await save(months)
    }
}
