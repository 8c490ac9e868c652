import GRDB
import Samples

/// Decides whether a sink is offered a version that it wants.
struct OfferRule {
    let terms: SinkTerms
    /// Microseconds since 1970.
    let now: Int64
    /// Records that ended before this time may not go to the sink; `nil` for no limit.
    ///
    /// Microseconds since 1970.
    let since: Int64?

    /// The reason why the version is not offered; `nil` if it is.
    ///
    /// - Parameters:
    ///   - row: the ledger's row of the record.
    ///   - wantsPuts: whether the sink wants the record while it is not retracted.
    ///   - mayHold: whether the target may have the record without having confirmed it.
    func skip(
        _ stored: StoredRecord, _ row: DeliveryRow?, wantsPuts: Bool, mayHold: () throws -> Bool
    ) rethrows -> SkipReason? {
        // A sink that took this version once takes it again.
        let isRepeat = row?.delivered == stored.sequence
        let holds = row?.holds ?? false
        switch stored.record {
        case .retraction:
            if wantsPuts, !isRepeat, !holds, try !mayHold() { return .neverDelivered }
            return terms.abilities.takesDeletions ? nil : .deletion
        case .sample(let sample):
            if isOwn(sample.source, sample.origin) { return .own }
            if let since, sample.end.microseconds < since { return .withheld }
            if holds, !isRepeat, !terms.abilities.takesEdits { return .edit }
            if case .filled = sample.provenance, !terms.abilities.takesFilledValues { return .filled }
            return !terms.abilities.takesPastDates && isPast(sample) ? .past : nil
        case .day(let day):
            if isOwn(day.source, []) { return .own }
            if let since, Int64(day.date.daysSinceEpoch + 1) * Filter.dayLength <= since { return .withheld }
            if holds, !isRepeat, !terms.abilities.takesEdits { return .edit }
            if let observed = day.observedOn, observed != day.date, !terms.abilities.takesFilledValues {
                return .filled
            }
            return !terms.abilities.takesPastDates && isPast(day) ? .past : nil
        }
    }

    private func isOwn(_ source: Source, _ origin: [OriginStep]) -> Bool {
        let target = terms.target
        func isOwnAccount(_ account: String?) -> Bool {
            guard let account, !target.accounts.isEmpty else { return true }
            return target.accounts.contains(account)
        }
        if source.plugin == target.plugin, isOwnAccount(source.account) { return true }
        guard case .system(let name, let account)? = origin.first else { return false }
        return target.systems.contains(name) && isOwnAccount(account)
    }

    /// Whether the sample is of a past day at the place of measurement; `false` if its time zone is unknown.
    private func isPast(_ sample: Sample) -> Bool {
        let clock = Timestamp(microseconds: now, offsetMinutes: sample.start.offsetMinutes)
        guard let day = LocalDay.of(sample.start, sampleZone: sample.zone, personZone: terms.zone),
            let today = LocalDay.of(clock, sampleZone: sample.zone, personZone: terms.zone)
        else { return false }
        return day < today
    }

    private func isPast(_ day: DayValue) -> Bool {
        let clock = Timestamp(microseconds: now, offsetMinutes: nil)
        guard let today = LocalDay.of(clock, sampleZone: day.zone, personZone: terms.zone) else { return false }
        return day.date < today
    }
}
