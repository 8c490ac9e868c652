import PluginKit
import Samples

/// All readings for the days, in memory; computes the changed days from delivered records without a hub.
///
/// Ten years of four weigh-ins a day are 14,600 readings of 32 bytes, plus the same size for the index by number.
struct ReadingIndex: Sendable {
    /// A change of one day.
    struct Edit: Hashable, Sendable {
        var shelf: Int
        var change: DayHistory.Change
    }

    /// A record that is in no day, with the reason.
    struct OmittedRecord: Hashable, Sendable {
        var type: TypeID
        var reason: String
    }

    /// A reading of a person missing from `hub.conf`, possibly since a change.
    struct UnknownPerson: Hashable, Sendable {
        var person: String
        /// In microseconds since 1970.
        var start: Int64
        /// The sequence of its version.
        var sequence: Int64
    }

    /// The place of a reading.
    struct Location {
        var shelf: Int32
        var day: Int32
        /// The sequence of its version.
        var sequence: Int64
    }

    /// A source of one person and type.
    struct Origin: Hashable, Sendable {
        var key: SeriesTable.Key
        var source: Source
    }

    let settings: FillerSettings
    /// By name.
    let persons: [String: FillerPerson]
    /// The hub's rank of each source; nil if the hub no longer has a record of that source.
    private(set) var ranks: [Origin: Int64?] = [:]
    private(set) var shelves: [SeriesTable] = []
    /// By the record's number.
    private(set) var leftOut: [Int64: OmittedRecord] = [:]
    /// By the record's number; no days are computed from these readings.
    private(set) var unnamed: [Int64: UnknownPerson] = [:]
    /// Start times of readings that were lost by persons who are not in `hub.conf`.
    private var daysWithoutReadings: [String: [Int64]] = [:]
    /// Numbers of records that were retracted, or are in no day for another reason.
    var gone: Set<Int64> = []
    /// Days, ascending, whose readings a rule of `hub.conf` has thinned or removed.
    var incomplete: [SeriesTable.Key: [Int32]] = [:]
    private(set) var sources: [Source] = []
    private var places: [SeriesTable.Key: Int] = [:]
    private(set) var homes: [Int64: Location] = [:]
    private var sourceIDs: [Source: Int32] = [:]
    /// Today's day for each person; it never goes back.
    private var todays: [String: Int32] = [:]

    init(_ settings: FillerSettings, _ persons: [String: FillerPerson]) {
        (self.settings, self.persons) = (settings, persons)
    }

    var readingCount: Int { homes.count }

    func today(of shelf: SeriesTable) -> Int32 { todays[shelf.key.person] ?? .min }

    // MARK: - Time

    /// The days that have begun until `now`, microseconds since 1970.
    mutating func advance(to now: Int64) -> [Edit] {
        var edits: [Edit] = []
        var begun: [String: Int32] = [:]
        for (index, shelf) in shelves.enumerated() {
            let (known, today) = (today(of: shelf), shelf.calendar.today(at: now))
            guard today > known else { continue }
            begun[shelf.key.person] = today
            guard known > .min else { continue }
            edits += shelf.history.begin(after: known, through: today).map { Edit(shelf: index, change: $0) }
        }
        todays.merge(begun) { max($0, $1) }
        return edits
    }

    /// When the next day of any person begins; nil if there are no persons with readings.
    func nextDay(after now: Int64) -> Int64? { Set(shelves.map(\.calendar)).map { $0.nextDay(after: now) }.min() }

    // MARK: - Records

    /// Loads records without computing the changed days.
    mutating func load(_ records: [StoredRecord], at now: Int64) {
        _ = advance(to: now)
        var puts: [Int: [Reading]] = [:]
        var again: [StoredRecord] = []
        for stored in records {
            // A record that changed while the hub was read appears again.
            guard homes[stored.number] == nil else {
                again.append(stored)
                continue
            }
            unnamed[stored.number] = nil
            guard let (shelf, reading) = reading(of: stored, at: now) else { continue }
            homes[stored.number] = Location(shelf: Int32(shelf), day: reading.day, sequence: stored.sequence)
            puts[shelf, default: []].append(reading)
        }
        for (shelf, puts) in puts { shelves[shelf].history.load(puts) }
        for stored in again { _ = take([stored], at: now) }
    }

    /// Takes changed records, and returns the days that change.
    ///
    /// - Parameter records: each number at most once.
    mutating func take(_ records: [StoredRecord], at now: Int64) -> [Edit] {
        var removals: [Int: [(number: Int64, day: Int32)]] = [:]
        var puts: [Int: [Reading]] = [:]
        for stored in records {
            let known = homes[stored.number]
            // Delivered late: a newer version was read in the meantime.
            if let known, known.sequence > stored.sequence { continue }
            if let known = unnamed[stored.number], known.sequence >= stored.sequence { continue }
            leftOut[stored.number] = nil
            let former = unnamed.removeValue(forKey: stored.number)
            defer {
                if let former, unnamed[stored.number]?.person != former.person {
                    daysWithoutReadings[former.person, default: []].append(former.start)
                }
            }
            let new = reading(of: stored, at: now)
            if let known {
                let shelf = Int(known.shelf)
                if let new, new.shelf == shelf,
                    shelves[shelf].history.reading(stored.number, on: known.day) == new.reading
                {
                    homes[stored.number]?.sequence = stored.sequence
                    continue
                }
                removals[shelf, default: []].append((stored.number, known.day))
                homes[stored.number] = nil
            }
            if let new {
                puts[new.shelf, default: []].append(new.reading)
                homes[stored.number] = Location(
                    shelf: Int32(new.shelf), day: new.reading.day, sequence: stored.sequence)
            }
        }
        return Set(removals.keys).union(puts.keys).sorted().flatMap { shelf in
            shelves[shelf].history.apply(
                removals: removals[shelf] ?? [], puts: puts[shelf] ?? [], through: today(of: shelves[shelf])
            ).map { Edit(shelf: shelf, change: $0) }
        }
    }

    /// The reading for a record, and its place; nil if no day is computed from it.
    private mutating func reading(of stored: StoredRecord, at now: Int64) -> (shelf: Int, reading: Reading)? {
        guard case .sample(let sample) = stored.record, case .quantity(let own, _) = sample.value,
            let person = stored.assignment.person,
            let type = settings.types.first(where: { $0.type.id == stored.type })
        else {
            gone.insert(stored.number)
            return nil
        }
        gone.remove(stored.number)
        guard let zone = persons[person.name]?.zone else {
            unnamed[stored.number] = UnknownPerson(
                person: person.name, start: sample.start.microseconds, sequence: stored.sequence)
            return nil
        }
        let value = stored.canonical?.value ?? own
        var fault = type.treatment.plausible.fault(of: value)
        if !stored.implausible.isEmpty { fault = "it is marked implausible: hub inbox says why" }
        if case .filled = sample.provenance { fault = "it was not measured, but filled in" }
        if fault != nil { gone.insert(stored.number) }
        guard fault == nil, let shelf = shelf(of: person.name, type, at: now) else {
            let reason =
                fault
                ?? "this machine does not know \(zone), the zone of \(person.name): install tzdata, or correct it in hub.conf"
            leftOut[stored.number] = OmittedRecord(type: stored.type, reason: reason)
            return nil
        }
        let source = intern(sample.source)
        if shelves[shelf].sources.insert(source).inserted {
            prefer(shelf)
            let origin = Origin(key: shelves[shelf].key, source: sample.source)
            if let rank = ranks[origin] ?? nil { shelves[shelf].history.rank(source, Int(rank)) }
        }
        return (shelf, shelves[shelf].reading(stored.number, sample, value, of: source))
    }

    // MARK: - Ranks of sources

    /// The sources of these records whose ranks are unknown, each with a time at which it has a record.
    func unranked(_ records: [StoredRecord]) -> [Origin: Timestamp] {
        var found: [Origin: Timestamp] = [:]
        for stored in records {
            guard case .sample(let sample) = stored.record, let person = stored.assignment.person?.name,
                persons[person] != nil,
                settings.types.contains(where: { $0.type.id == stored.type })
            else { continue }
            let origin = Origin(
                key: SeriesTable.Key(person: person, type: stored.type), source: sample.source)
            if ranks[origin] == nil { found[origin] = sample.start }
        }
        return found
    }

    /// - Parameter rank: nil if the hub no longer has a record of the source.
    mutating func note(_ rank: Int64?, of origin: Origin) { ranks[origin] = .some(rank) }

    /// Whether the hub gave no rank for a source because its record had just been retracted.
    var hasUnranked: Bool { ranks.values.contains(nil) }

    private mutating func shelf(of person: String, _ type: FillerSettings.DayType, at now: Int64) -> Int? {
        let key = SeriesTable.Key(person: person, type: type.type.id)
        if let place = places[key] { return place }
        guard let zone = persons[person]?.zone, let calendar = settings.calendar(of: person, zone: zone) else {
            return nil
        }
        let stop = FillerSettings.chosen(settings.stops, person, key.type).first
        let rules = settings.rules(of: type).map { rules in
            var rules = rules
            rules.carriesUntil = stop.map { Int32(clamping: $0.daysSinceEpoch) }
            return rules
        }
        shelves.append(
            SeriesTable(
                key: key, type: type, calendar: calendar, isFixed: settings.zone != .sample, rules: rules))
        places[key] = shelves.count - 1
        todays[person] = max(todays[person] ?? .min, calendar.today(at: now))
        prefer(shelves.count - 1)
        return shelves.count - 1
    }

    private mutating func intern(_ source: Source) -> Int32 {
        if let id = sourceIDs[source] { return id }
        let id = Int32(sources.count)
        sources.append(source)
        sourceIDs[source] = id
        return id
    }

    /// Gives precedence to the sources that the settings choose, as far as they have given readings.
    private mutating func prefer(_ shelf: Int) {
        let (key, seen) = (shelves[shelf].key, shelves[shelf].sources)
        let choices = FillerSettings.chosen(settings.sources, key.person, key.type)
        guard !choices.isEmpty else { return }
        shelves[shelf].history.prefer(
            choices.map { choice in seen.filter { choice.matches(sources[Int($0)]) } })
    }

    /// Keeps the last of several edits of a day.
    static func latest(_ edits: [Edit]) -> [Edit] {
        struct Place: Hashable {
            var shelf, series: Int
            var day: Int32
        }
        var seen: Set<Place> = []
        return edits.reversed().filter { edit in
            seen.insert(Place(shelf: edit.shelf, series: edit.change.series, day: edit.change.day)).inserted
        }.reversed()
    }

    /// Returns and clears the start times of readings that persons outside `hub.conf` have lost; days may be based on them.
    mutating func takeDaysWithoutReadings() -> [String: [Int64]] {
        defer { daysWithoutReadings = [:] }
        return daysWithoutReadings
    }

    // MARK: - Problems

    /// Number of readings of each person missing from `hub.conf`.
    var unnamedCounts: [(person: String, readings: Int)] {
        Dictionary(grouping: unnamed.values, by: \.person).map { ($0.key, $0.value.count) }.sorted { $0.0 < $1.0 }
    }
}

/// A person's zone and source order.
struct FillerPerson: Hashable, Sendable {
    var zone: String
    /// The order of sources from `hub.conf`.
    var priority: [Welcome.SourceOrder] = []
}
