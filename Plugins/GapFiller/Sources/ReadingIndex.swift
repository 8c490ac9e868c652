import DaySeries
import PluginKit

/// All readings that days are made of, in memory: from delivered records to changed days, without a hub.
///
/// Ten years of four weigh-ins a day are 14,600 readings of 32 bytes, and as much again to find them by their number.
struct ReadingIndex: Sendable {
    /// A day that is another one now.
    struct Edit: Hashable, Sendable {
        var shelf: Int
        var change: DayHistory.Change
    }

    /// A record that no day is made of.
    struct LeftOut: Hashable, Sendable {
        var type: TypeID
        var reason: String
    }

    /// A reading of a person whom `hub.conf` does not name, or not any more.
    struct Unnamed: Hashable, Sendable {
        var person: String
        /// Microseconds since 1970.
        var start: Int64
        /// The version it is of.
        var sequence: Int64
    }

    /// Where a reading is.
    struct Location {
        var shelf: Int32
        var day: Int32
        /// The version it is of.
        var sequence: Int64
    }

    /// A source of a person and type.
    struct Origin: Hashable, Sendable {
        var key: SeriesTable.Key
        var source: Source
    }

    let settings: FillerSettings
    /// By name.
    let persons: [String: FillerPerson]
    /// The place of each source as the hub gives it; `nil` if the hub has no record of that source any more.
    private(set) var ranks: [Origin: Int64?] = [:]
    private(set) var shelves: [SeriesTable] = []
    /// By the record's number.
    private(set) var leftOut: [Int64: LeftOut] = [:]
    /// By the record's number: no day is made of these.
    private(set) var unnamed: [Int64: Unnamed] = [:]
    /// Persons whom `hub.conf` does not name, and when the readings began that they have lost.
    private var bereft: [String: [Int64]] = [:]
    /// Numbers of records that were taken back, or are in no day for another reason of their own.
    var gone: Set<Int64> = []
    /// Days, ascending, of which a rule of `hub.conf` has thinned or removed readings.
    var incomplete: [SeriesTable.Key: [Int32]] = [:]
    private(set) var sources: [Source] = []
    private var places: [SeriesTable.Key: Int] = [:]
    private(set) var homes: [Int64: Location] = [:]
    private var sourceIDs: [Source: Int32] = [:]
    /// Today of each person, which never goes back.
    private var todays: [String: Int32] = [:]

    init(_ settings: FillerSettings, _ persons: [String: FillerPerson]) {
        (self.settings, self.persons) = (settings, persons)
    }

    var readingCount: Int { homes.count }

    func today(of shelf: SeriesTable) -> Int32 { todays[shelf.key.person] ?? .min }

    // MARK: - Time

    /// Days that have begun until `now`, microseconds since 1970.
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

    /// When the next day of any person begins; `nil` where there is none.
    func nextDay(after now: Int64) -> Int64? { Set(shelves.map(\.calendar)).map { $0.nextDay(after: now) }.min() }

    // MARK: - Records

    /// Takes in what the hub holds, without asking what changes by it.
    mutating func load(_ records: [StoredRecord], at now: Int64) {
        _ = advance(to: now)
        var puts: [Int: [Reading]] = [:]
        var again: [StoredRecord] = []
        for stored in records {
            // What changed while it was read comes once more.
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

    /// Takes in what has changed, and says which days are other ones by it.
    ///
    /// - Parameter records: no number twice.
    mutating func take(_ records: [StoredRecord], at now: Int64) -> [Edit] {
        var removals: [Int: [(number: Int64, day: Int32)]] = [:]
        var puts: [Int: [Reading]] = [:]
        for stored in records {
            let known = homes[stored.number]
            // Delivered late: a newer version has been read meanwhile.
            if let known, known.sequence > stored.sequence { continue }
            if let known = unnamed[stored.number], known.sequence >= stored.sequence { continue }
            leftOut[stored.number] = nil
            let former = unnamed.removeValue(forKey: stored.number)
            defer {
                if let former, unnamed[stored.number]?.person != former.person {
                    bereft[former.person, default: []].append(former.start)
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

    /// The reading that a record is, and where it belongs; `nil` where no day is made of it.
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
            unnamed[stored.number] = Unnamed(
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
            leftOut[stored.number] = LeftOut(type: stored.type, reason: reason)
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

    // MARK: - Which source counts first

    /// The sources of which these records are and whose place is not known, each with an instant at which it has something.
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

    /// - Parameter rank: `nil` where the hub has nothing of the source any more.
    mutating func note(_ rank: Int64?, of origin: Origin) { ranks[origin] = .some(rank) }

    /// Whether the hub did not say the place of a source: what was asked had just been taken back.
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

    /// The sources that the settings choose, as far as they have been seen.
    private mutating func prefer(_ shelf: Int) {
        let (key, seen) = (shelves[shelf].key, shelves[shelf].sources)
        let choices = FillerSettings.chosen(settings.sources, key.person, key.type)
        guard !choices.isEmpty else { return }
        shelves[shelf].history.prefer(
            choices.map { choice in seen.filter { choice.matches(sources[Int($0)]) } })
    }

    /// Of several edits of a day the last.
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

    /// Persons whom `hub.conf` does not name, and when the readings began that they have lost since this was asked last: days may be made of them.
    mutating func takeBereft() -> [String: [Int64]] {
        defer { bereft = [:] }
        return bereft
    }

    // MARK: - What is wrong

    /// How many readings there are of persons whom `hub.conf` does not name.
    var unnamedCounts: [(person: String, readings: Int)] {
        Dictionary(grouping: unnamed.values, by: \.person).map { ($0.key, $0.value.count) }.sorted { $0.0 < $1.0 }
    }
}

/// What is known of a person.
struct FillerPerson: Hashable, Sendable {
    var zone: String
    /// Which sources count first, as `hub.conf` says.
    var priority: [Welcome.SourceOrder] = []
}
