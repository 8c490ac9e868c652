import CloudClient
import PluginKit

// Handles the hub's deliveries.
extension Exporter {
    func deliver(_ records: [DeliveredRecord]) async throws -> [DeliveryResult] {
        try await alone { try await $0.take(records) }
    }

    private func take(_ records: [DeliveredRecord]) async throws -> [DeliveryResult] {
        var end: DeliveryResult?
        let isFirst = judge == nil
        if isFirst { end = try await attempt { try await $0.lookUp() } }
        guard let judge else {
            let later = end ?? .retry(after: 60_000, reason: "Exist has not told the user's time zone yet")
            return records.map { unknownRecordResult($0) ?? later }
        }
        let verdicts = records.map { record -> DayDecision in
            if let refusal = unknownRecordResult(record), case .refused(let reason) = refusal { return .never(reason) }
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
        for verdict in verdicts { results.append(try await result(verdict, end)) }
        return results
    }

    /// The refusal of another person's record, which must never leave the hub.
    private func unknownRecordResult(_ record: DeliveredRecord) -> DeliveryResult? {
        guard let known = account.person, record.person?.uid != known else { return nil }
        return .refused(
            reason:
                "this instance has sent another person's days to its account; hub do \(hub.instance) forget begins again"
        )
    }

    private func result(_ verdict: DayDecision, _ end: DeliveryResult?) async throws -> DeliveryResult {
        switch verdict {
        case .never(let reason): return .refused(reason: reason)
        case .later: return .retry(after: untilTomorrow, reason: "its day has not begun in the user's time zone")
        case .gone(let key): return try await takeBack(key)
        case .send(let key, let value):
            if let known = answer(key, value) { return known }
            if let end { return end }
            // Exist has the hub's current value, which is newer than this record; the delivery of that value follows.
            if let now = wanted(key), held[key].has(now) {
                return .delivered(receipt: receipt(key) + ", in a newer version")
            }
            return .retry(
                after: 60_000,
                reason: key.date == today
                    ? "Exist has not taken it yet: its day may not have begun there"
                    : "Exist's answer did not mention this value")
        }
    }

    /// The result that is already known for a value; nil if the value has to be sent.
    private func answer(_ key: DayKey, _ value: ExistValue) -> DeliveryResult? {
        let known = held[key]
        if known.has(value) { return .delivered(receipt: receipt(key)) }
        if let refused = known.refused, refused.digits == value.digits { return .refused(reason: refused.reason) }
        if let lost = account.ownership[key.attribute]?.lost { return .refused(reason: lost) }
        return nil
    }

    private func receipt(_ key: DayKey) -> String { "\(account.username ?? "?")/\(key.attribute)/\(key.date.text)" }

    /// Answers the retraction of a day: Exist keeps its value, because it cannot be emptied.
    private func takeBack(_ key: DayKey) async throws -> DeliveryResult {
        guard held[key].mayHold else { return .delivered(receipt: receipt(key) + ": there was nothing") }
        try await noteOrphan(key)
        return .delivered(receipt: receipt(key) + ": orphaned, Exist keeps its value")
    }

    /// Reports once that Exist keeps a value that the hub no longer has.
    func noteOrphan(_ key: DayKey) async throws {
        guard held[key].isOrphaned != true else { return }
        held[key].isOrphaned = true
        try await save([key.month])
        await tell(
            "orphaned", .info,
            "Exist keeps its value of \(key.attribute) on \(key.date.text), which the hub has no more: Exist cannot be "
                + "emptied. hub do \(hub.instance) overwrite puts another there.")
    }

    /// Milliseconds until the user's next day begins, at least a minute.
    private var untilTomorrow: Int64 {
        guard let zone = account.zone, let today else { return 60_000 }
        // No zone skips more than a day or has a day of more than 26 hours.
        for minutes in stride(from: Int64(1), to: 26 * 60, by: 15) {
            let time = Timestamp(microseconds: now + minutes * 60_000_000)
            if let day = LocalDay.of(time, sampleZone: nil, personZone: zone, policy: .fixed), day > today {
                return minutes * 60_000
            }
        }
        return 3_600_000
    }

    /// Why nothing may be sent now; nil if sending is allowed.
    private func notYet() -> DeliveryResult? {
        if settings.isDryRun {
            return .retry(
                after: 3_600_000, reason: "dry_run is set: hub do \(hub.instance) plan shows what would be sent")
        }
        if let rest = pauseResult { return rest }
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

    private var pauseResult: DeliveryResult? {
        account.remainingPause(at: now).map { .retry(after: $0.microseconds / 1_000 + 1, reason: $0.reason) }
    }

    /// Runs calls; a failure becomes the answer to every record that is still unsettled.
    private func attempt(_ body: (isolated Exporter) async throws -> Void) async throws -> DeliveryResult? {
        do {
            try await body(self)
            return nil
        } catch let trouble as ExistError {
            switch trouble {
            case .logIn(let reason), .mixedUp(let reason): return .unauthorized(reason: reason)
            case .resting: return pauseResult ?? .retry(after: 60_000, reason: "Exist did not answer as it should")
            }
        }
    }
}
