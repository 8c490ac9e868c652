import CloudClient
import PluginKit

/// Sends one person's days to one account of Exist, and remembers what Exist holds.
///
/// Each run asks the hub for all days, so that related values go out together even if they were delivered separately.
actor Exporter {
    let hub: PluginContext
    let settings: ExistSettings
    let service: ExistService
    let login: CloudAccount
    /// Deliveries and commands share the account's calls and its state, so only one runs at a time.
    private let lock = AsyncLock()
    var account: AccountState
    var held: HeldDays
    private var shelf = DayTable()
    /// When the first of the values that are collected for one call arrived; nil if there is none.
    var gathering: Int64?

    init(_ hub: PluginContext) async throws {
        (self.hub, settings) = (hub, try ExistSettings(hub.settings))
        let service = ExistService(settings, pace: ClientClock(hub))
        (account, held) = (try AccountState.read(hub.state), try HeldDays(hub.state))
        login = CloudAccount(hub, service.oauth, margin: .seconds(300))
        self.service = service
    }

    /// Runs `body` with exclusive access to the account.
    func alone<Value: Sendable>(_ body: (isolated Exporter) async throws -> Value) async throws -> Value {
        try await lock.withLock { try await body(self) }
    }

    var now: Int64 { hub.clock.now() }

    /// Today's date in the user's time zone; nil until Exist has returned the profile.
    var today: LocalDate? {
        account.zone.flatMap { LocalDay.of(hub.clock.time, sampleZone: nil, personZone: $0, policy: .fixed) }
    }

    var judge: DayPolicy? { today.map { DayPolicy(settings: settings, today: $0) } }

    // MARK: - A run

    /// Sends Exist every value that differs from the hub's.
    /// - Parameter isLookedUp: true if the profile has just been fetched.
    func synchronize(isLookedUp: Bool = false) async throws {
        if !isLookedUp { try await lookUp() }
        try await own()
        try await refreshShelf()
        guard let plan = plan() else { return }
        // This includes days retracted before the hub delivered them, for which the hub sends no retraction (R10.4).
        for key in plan.orphaned { try await noteOrphan(key) }
        guard plan.isNeeded else { return }
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
        // The first days that are sent fix the person from then on.
        if account.person == nil, let first = shelf.days.values.first?.assignment.person?.uid {
            account.person = first
            try await save()
        }
    }

    /// The values that would be sent now; considers only the days of the account's person.
    /// - Parameter acquiring: plan as if attributes that belong to another service had been taken over first.
    func plan(acquiring: Bool = false) -> SyncPlan? {
        guard let judge else { return nil }
        let usable = Set(settings.attributes.map(\.name)).filter { acquiring || account.ownership[$0]?.lost == nil }
        return SyncPlan(mine, held: held, judge: judge, usable: usable)
    }

    private var mine: [StoredRecord] { shelf.days.values.filter { $0.assignment.person?.uid == account.person } }

    /// The value that the hub has now for a day and that should be sent; nil if there is none.
    func wanted(_ key: DayKey) -> ExistValue? {
        guard let judge, let stored = mine.first(where: { judge.key(of: $0) == key }),
            case .send(_, let value) = judge.verdict(on: stored)
        else { return nil }
        return value
    }

    /// Fetches the account's user name and time zone.
    func lookUp() async throws {
        let profile: ExistService.Profile = try await read(ExistService.profile)
        guard account.username == nil || account.username == profile.username else {
            throw ExistError.mixedUp(otherAccount(profile.username))
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

    /// Makes calls with a valid token, and repeats the call with a new one if Exist refuses the first.
    ///
    /// - Throws: ``ExistError``; `CancellationError`.
    func withToken(_ call: (OAuthToken) async throws -> CloudAnswer) async throws -> CloudAnswer {
        do {
            return try await login.attempt(call)
        } catch let error as TokenError {
            if error.needsLogIn { throw ExistError.logIn(error.message) }
            throw try await setback(error.message, hadNoEffect: true)
        } catch let error as AskError {
            if error.code == .stopping { throw CancellationError() }
            throw try await setback("the hub gave no token: \(error)", hadNoEffect: true)
        }
    }

    // MARK: - State

    /// Saves the account and the days of the given months in one commit.
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

    /// Forgets the account and the person, but keeps counting calls.
    func forget() async throws {
        let months = Set(held.days.keys.map(\.month))
        let calls = account.calls
        (account, held, shelf) = (AccountState(), HeldDays(), DayTable())
        account.calls = calls
        try await save(months)
    }
}
