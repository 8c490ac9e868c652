import PluginKit
import Samples

/// A day that the hub has.
struct StoredDay: Hashable, Sendable {
    let day: DayValue
    /// The sequence of its version.
    let sequence: Int64

    /// The day of its readings.
    var source: Int32 { Int32(clamping: (day.observedOn ?? day.date).daysSinceEpoch) }
    var key: SeriesTable.Key { SeriesTable.Key(person: day.person, type: day.type) }
    /// The numbers of the readings in its basis.
    var numbers: some Sequence<Int64> {
        day.basis.lazy.compactMap { if case .number(let number) = $0 { number } else { nil } }
    }
}

/// Handles readings that the rules of `hub.conf` have thinned or removed.
///
/// The hub does not report their removal (R6.43). Such a reading is in the basis of a day, is missing in the hub, and was not retracted.
extension ReadingIndex {
    /// Loads the days that the hub itself keeps.
    mutating func load(thinned days: [DayValue]) {
        var found: [SeriesTable.Key: Set<Int32>] = [:]
        for day in days where day.series.hasPrefix("kept.") {
            let key = SeriesTable.Key(person: day.person, type: day.type)
            found[key, default: []].insert(Int32(clamping: day.date.daysSinceEpoch))
        }
        note(incomplete: found)
    }

    /// Loads the retractions that the hub holds.
    mutating func load(retractions: [StoredRecord]) {
        for stored in retractions {
            guard case .retraction(let retraction) = stored.record, case .sample = retraction.identity else { continue }
            gone.insert(stored.number)
        }
    }

    /// Finds the readings that days name and the hub no longer has.
    mutating func learn(from days: some Sequence<StoredDay>) {
        var found: [SeriesTable.Key: Set<Int32>] = [:]
        for day in days where day.numbers.contains(where: isMissing) && !isOfRemovedPerson(day) {
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

    /// Whether a day is based on a reading that was retracted, or now belongs to another person or another day.
    func isOfRemovedPerson(_ day: StoredDay) -> Bool {
        day.numbers.contains { number in
            if gone.contains(number) { return true }
            if let unnamed = unnamed[number] { return unnamed.person != day.day.person }
            guard let home = homes[number] else { return false }
            // A changed setting also moves days, but makes no new version of a reading.
            let shelf = shelves[Int(home.shelf)]
            return shelf.key != day.key
                || home.sequence > day.sequence && !shelf.history.reaches(number, on: home.day, to: day.source)
        }
    }

    /// Whether to keep a day that the remaining readings cannot reproduce: others were thinned or removed, and none was retracted.
    func stays(_ day: StoredDay) -> Bool {
        incomplete[day.key]?.contains(day.source) ?? false && !isOfRemovedPerson(day)
    }

    /// Whether the remaining readings do not determine a day: a thinned or removed reading is at least as near to it as the nearest one.
    ///
    /// - Parameter source: the day of the nearest remaining reading; nil if none reaches this day.
    func isUncertain(_ key: SeriesTable.Key, _ day: Int32, from source: Int32?) -> Bool {
        guard let latest = incomplete[key]?.last(where: { $0 <= day }) else { return false }
        return source.map { $0 <= latest } ?? (Int(day) - Int(latest) < SeriesRules.maximumDays)
    }

    func isUncertain(_ edit: Edit) -> Bool {
        isUncertain(shelves[edit.shelf].key, edit.change.day, from: edit.change.now?.observedOn)
    }
}
