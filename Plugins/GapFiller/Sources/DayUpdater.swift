import PluginKit
import Samples

/// Keeps the days of the hub up to date.
///
/// It reads all readings from the hub when it starts, and receives later ones by its subscription. It stores nothing on disk,
/// so nothing can be lost or differ: after a kill all days are compared again.
actor DayUpdater {
    private var hub: PluginContext?
    private var settings: FillerSettings?
    private var library: ReadingIndex?
    /// The epoch of the store from which the library was read.
    private var epoch: String?
    /// The hub has not confirmed the days that follow from the library, so the library is read again.
    private var isStale = false
    /// The cursor up to which the hub was queried.
    private var looked: Cursor?
    /// Whether a reading may have been read and then retracted before its delivery, which the hub does not deliver (R10.4).
    private(set) var mustLook = false
    /// Whether records were delivered since the last look.
    private var isBusy = false
    /// Days that the hub rejected; retried when a day begins or there is a new session.
    private var rejections = Rejections()
    private let lock = AsyncLock()
    private var isOpen = false
    private var openWaiters: [CheckedContinuation<Void, Never>] = []
    /// The last reported problem; nil before the first report.
    private var complaint: String??

    // MARK: - Work

    /// Reads all readings and days, and stores the differences.
    ///
    /// - Returns: the cursor up to which it has read.
    func open(_ settings: FillerSettings, _ hub: PluginContext) async throws -> Cursor? {
        self.hub = hub
        // Also after a failure, which ends the plugin: no delivery may keep waiting.
        defer { noteOpen() }
        // With settings from a file there may be no session yet, and the hub provides the persons, their zones and the clock.
        try await hub.untilSession(beyond: 0)
        let settings = settings.named(as: hub.persons)
        self.settings = settings
        let unknown = settings.persons.subtracting(hub.persons.map(\.name)).sorted()
        if !unknown.isEmpty {
            hub.logger.warning(
                "the settings name persons that this instance does not have",
                metadata: ["persons": "\(unknown.joined(separator: ", "))"])
        }
        _ = try await lock.withLock {
            try await self.renew(isDryRun: false) { done, total in
                let text = total.map { "\(done) of \($0) days are stored" } ?? "\(done) readings are read"
                if let event = try? DeviceEvent("progress", text: text) { await hub.event(event) }
            }
        }
        return looked
    }

    private func noteOpen() {
        isOpen = true
        for waiter in openWaiters { waiter.resume() }
        openWaiters = []
    }

    /// Returns when ``open(_:_:)`` has finished.
    func untilOpen() async {
        if !isOpen { await withCheckedContinuation { openWaiters.append($0) } }
    }

    /// Takes delivered records; returns when the hub has every day that they change.
    func take(_ records: [DeliveredRecord]) async throws {
        try await lock.withLock {
            try await self.store(records.map(\.stored), of: records.first?.version.epoch)
            // A reading that was read earlier may have been retracted before its delivery.
            try await self.look()
        }
    }

    /// Handles a new day or a new session; returns when the hub has all days that follow from it.
    func turn() async throws {
        try await lock.withLock {
            try await self.look()
            try await self.store([], of: nil, isRetry: true)
        }
    }

    /// Queries the changes since the last query, including those that are never delivered.
    private func look() async throws {
        guard let hub, let since = looked, !isStale else { return }
        (mustLook, isBusy) = (isBusy, false)
        do {
            for try await page in hub.query(filter([.quantity, .retraction]), since: since) {
                try await store(page.records, of: nil)
                looked = page.cursor ?? looked
            }
        } catch let error as AskError where error.code == .refused {
            isStale = true  // Another epoch: the store was restored.
        }
    }

    private func filter(_ kinds: [QueryRequest.Kind]) -> QueryRequest.Filter {
        var filter = QueryRequest.Filter()
        (filter.types, filter.kinds) = (settings?.types.map(\.type.id.rawValue), kinds)
        return filter
    }

    /// The time when the next day begins, by the hub's clock.
    func nextDay() -> Int64? { hub.flatMap { library?.nextDay(after: $0.clock.now()) } }

    /// - Parameter source: the epoch of the store from which the records come.
    private func store(_ records: [StoredRecord], of source: String?, isRetry: Bool = false) async throws {
        guard let hub else { return }
        if source != nil { isBusy = true }
        // If the persons in hub.conf have changed, read everything again, including the ranks of sources.
        let isOther = library.map { $0.persons != Self.persons(hub) || $0.hasUnranked } ?? true
        if isStale || isOther || source.map({ $0 != epoch }) ?? false {
            _ = try await renew(isDryRun: false)
        }
        guard var next = library else { return }
        try await Self.rank(records, in: &next, hub)
        let now = hub.clock.now()
        let edits = ReadingIndex.latest(next.advance(to: now) + next.take(records, at: now))
        let daysWithoutReadings = next.takeDaysWithoutReadings()
        let uncertain = edits.filter(next.isUncertain)
        library = next
        // Until the hub confirms, a retry must find the same work.
        isStale = true
        var rejections = rejections
        let certain = uncertain.isEmpty ? edits : edits.filter { !next.isUncertain($0) }
        try await DayPublisher(hub: hub, library: next).store(certain, isRetry: isRetry, &rejections)
        let reconciliation = DayReconciliation(hub: hub, library: next, isDryRun: false)
        try await reconciliation.takeBack(daysWithoutReadings, &rejections)
        try await reconciliation.settle(uncertain, &rejections)
        (self.rejections, isStale) = (rejections, false)
        await complain(hub, next)
    }

    private static func persons(_ hub: PluginContext) -> [String: FillerPerson] {
        let persons = hub.persons.compactMap { person in
            person.zone.map { (person.name, FillerPerson(zone: $0, priority: person.priority)) }
        }
        return Dictionary(persons) { first, _ in first }
    }

    /// Asks the hub for the ranks of new sources.
    private static func rank(
        _ records: [StoredRecord], in library: inout ReadingIndex, _ hub: PluginContext
    ) async throws {
        for (origin, start) in library.unranked(records) {
            var filter = QueryRequest.Filter()
            (filter.types, filter.persons) = ([origin.key.type.rawValue], [origin.key.person])
            (filter.sources, filter.strict) = ([origin.source.plugin], [.start])
            (filter.from, filter.to) = (start, start.next)
            let found: [SourceTally]
            do { found = try await hub.sources(filter) } catch let error as AskError where error.code == .refused {
                found = []  // This instance may not read the person, or the hub has forgotten them.
            }
            library.note(found.first { $0.source.isSame(as: origin.source) }?.rank, of: origin)
        }
    }

    // MARK: - Reading everything

    /// The plugin kind of the hub itself, which keeps days of thinned samples (Protocol R6.44).
    private static let hubItself = "hub"

    /// Reads every reading and every day, and stores the differences.
    private func renew(
        isDryRun: Bool, _ progress: DayReconciliation.Progress = { _, _ in }
    ) async throws -> DayReconciliation.Report {
        guard let hub, let settings else { throw PluginFailure(.failed, "the plugin has not read its settings yet") }
        var library = ReadingIndex(settings, Self.persons(hub))
        var cursor: Cursor?
        var waiting: [StoredRecord] = []
        for try await page in hub.query(filter([.quantity])) {
            waiting += page.records
            cursor = page.cursor ?? cursor
            // Load in pieces of 50,000, because sorting costs more than reading.
            guard waiting.count >= 50_000 else { continue }
            try await Self.rank(waiting, in: &library, hub)
            library.load(waiting, at: hub.clock.now())
            waiting = []
            await progress(library.readingCount, nil)
        }
        try await Self.rank(waiting, in: &library, hub)
        library.load(waiting, at: hub.clock.now())
        var thinned = filter([.day])
        thinned.sources = [Self.hubItself]
        for try await page in hub.query(thinned) {
            library.load(
                thinned: page.records.compactMap { if case .day(let day) = $0.record { day } else { nil } })
        }
        for try await page in hub.query(filter([.retraction])) { library.load(retractions: page.records) }
        var reconciliation = DayReconciliation(hub: hub, library: library, isDryRun: isDryRun)
        let (report, rejections) = try await reconciliation.run(progress)
        guard !isDryRun else { return report }
        self.rejections = rejections
        library = reconciliation.library
        (self.library, epoch, isStale) = (library, cursor?.epoch, false)
        (looked, mustLook, isBusy) = (cursor, true, true)
        hub.logger.log(
            level: rejections.isEmpty ? .info : .error,
            rejections.isEmpty
                ? "the days are as they should be" : "the hub rejected days; all others are as they should be",
            metadata: [
                "readings": "\(report.readings)", "days": "\(report.days)", "days.stored": "\(report.stored)",
                "days.retracted": "\(report.retracted)", "days.rejected": "\(report.rejected)",
            ])
        await complain(hub, library)
        return report
    }

    func recompute(
        isDryRun: Bool, _ progress: @escaping DayReconciliation.Progress
    ) async throws -> DayReconciliation.Report {
        await untilOpen()
        return try await lock.withLock { try await self.renew(isDryRun: isDryRun, progress) }
    }

    func report() async throws -> StateReport {
        await untilOpen()
        guard let library else {
            throw CommandFailure("starting", "the plugin is being started; ask again in a moment")
        }
        return StateReport(library, rejections)
    }

    // MARK: - Reporting problems

    /// Reports records in no day once, and again when the problem is resolved.
    private func complain(_ hub: PluginContext, _ library: ReadingIndex) async {
        let text = StatusProblems.text(library, rejections)
        guard complaint != .some(text) else { return }
        complaint = .some(text)
        if let text {
            hub.logger.warning("not every reading is in its day", metadata: ["left.out": "\(text)"])
            let severity: DeviceEvent.Severity = StatusProblems.isSevere(library, rejections) ? .error : .warning
            if let event = try? DeviceEvent("error", severity: severity, text: text) { await hub.event(event) }
        } else if let event = try? DeviceEvent("error", isResolved: true) {
            await hub.event(event)
        }
    }
}

extension SourceTally.Origin {
    fileprivate func isSame(as source: Source) -> Bool {
        plugin == source.plugin && device == source.device && account == source.account
    }
}
