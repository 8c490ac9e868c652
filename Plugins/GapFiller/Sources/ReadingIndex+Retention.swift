import DaySeries
import PluginKit

/// A day that the hub has.
struct StoredDay: Hashable, Sendable {
    let day: DayValue
    /// The version it is of.
    let sequence: Int64

    /// The day of its readings.
    var source: Int32 { Int32(clamping: (day.observedOn ?? day.date).daysSinceEpoch) }
    var key: SeriesTable.Key { SeriesTable.Key(person: day.person, type: day.type) }
    /// The readings it names.
    var numbers: some Sequence<Int64> {
        day.basis.lazy.compactMap { if case .number(let number) = $0 { number } else { nil } }
    }
}

/// What rules of `hub.conf` have thinned or removed.
///
/// The hub says nothing of it (R6.43): such a reading is one that a day names, that the hub has no more, and that was not taken back.
extension ReadingIndex {
    /// Takes in days of the hub's own.
    mutating func load(thinned days: [DayValue]) {
        var found: [SeriesTable.Key: Set<Int32>] = [:]
        for day in days where day.series.hasPrefix("kept.") {
            let key = SeriesTable.Key(person: day.person, type: day.type)
            found[key, default: []].insert(Int32(clamping: day.date.daysSinceEpoch))
        }
        note(incomplete: found)
    }

    /// Takes in the retractions that the hub holds.
    mutating func load(retractions: [StoredRecord]) {
        for stored in retractions {
            guard case .retraction(let retraction) = stored.record, case .sample = retraction.identity else { continue }
            gone.insert(stored.number)
        }
    }

    /// Learns from days that the hub has which readings it has no more.
    mutating func learn(from days: some Sequence<StoredDay>) {
        var found: [SeriesTable.Key: Set<Int32>] = [:]
        for day in days where day.numbers.contains(where: isMissing) && !isOfGone(day) {
            found[day.key, default: []].insert(day.source)
        }
        note(incomplete: found)
    }

    private mutating func note(incomplete days: [SeriesTable.Key: Set<Int32>]) {
        for (key, days) in days { incomplete[key] = days.union(incomplete[key] ?? []).sorted() }
    }

    private func isMissing(_ number: Int64) -> Bool {
        homes[number] == nil && unnamed[number] == nil && leftOut[number] == nil && !gone.contains(number)
    }

    /// Whether a day is made of a reading that was taken back, or is another person's or another day's now.
    func isOfGone(_ day: StoredDay) -> Bool {
        day.numbers.contains { number in
            if gone.contains(number) { return true }
            if let unnamed = unnamed[number] { return unnamed.person != day.day.person }
            guard let home = homes[number] else { return false }
            // Another setting cuts days elsewhere, too, but makes no new version of a reading.
            let shelf = shelves[Int(home.shelf)]
            return shelf.key != day.key
                || home.sequence > day.sequence && !shelf.history.reaches(number, on: home.day, to: day.source)
        }
    }

    /// Whether a day stays that cannot be made of the readings that are left: the others were thinned or removed, and none was taken back.
    func stays(_ day: StoredDay) -> Bool { incomplete[day.key]?.contains(day.source) ?? false && !isOfGone(day) }

    /// Whether a day cannot be told from the readings that are left: one that was thinned or removed is as near to it as the nearest of them, or nearer.
    ///
    /// - Parameter source: the day of the nearest that is left; `nil` where none reaches it.
    func isUncertain(_ key: SeriesTable.Key, _ day: Int32, from source: Int32?) -> Bool {
        guard let latest = incomplete[key]?.last(where: { $0 <= day }) else { return false }
        return source.map { $0 <= latest } ?? (Int(day) - Int(latest) < SeriesRules.mostDays)
    }

    func isUncertain(_ edit: Edit) -> Bool {
        isUncertain(shelves[edit.shelf].key, edit.change.day, from: edit.change.now?.observedOn)
    }
}
