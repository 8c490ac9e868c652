import PluginKit
import Samples

/// Compares the expected days with those of the hub, and stores the differences.
struct DayReconciliation: Sendable {
    let hub: PluginContext
    /// Learns from the hub's days which of their readings remain.
    private(set) var library: ReadingIndex
    let isDryRun: Bool

    /// The differences found; they are stored unless it is a dry run.
    struct Report: Encodable, Hashable, Sendable {
        var dryRun = false
        /// Number of readings in days.
        var readings = 0
        /// Number of expected days.
        var days = 0
        /// Number of days that were missing or different.
        var stored = 0
        var retracted = 0
        /// How many of these the hub rejected; they are retried.
        var rejected = 0
        var series: [Series] = []

        struct Series: Encodable, Hashable, Sendable {
            var person, type, series: String
            var days, stored, retracted: Int
            /// The first and the last date with a difference.
            var from, to: String?
        }
    }

    /// Reports the number of readings read, or of days stored and their total.
    typealias Progress = @Sendable (_ done: Int, _ total: Int?) async -> Void

    /// Handles one person at a time, so that only one person's days are in memory.
    mutating func run(_ progress: Progress) async throws -> (Report, Rejections) {
        var report = Report(dryRun: isDryRun, readings: library.readingCount)
        var rejections = Rejections()
        let remembered = try await DayPublisher(hub: hub, library: library).remembered()
        let names = Set(hub.persons.map(\.name))
        for person in names.sorted() {
            let shelves = library.shelves.filter { $0.key.person == person }
            let made = shelves.flatMap { shelf in shelf.history.rules.indices.map { (shelf, $0) } }
            let wanted = Set(made.map { SeriesName($0.0, $0.1) })
            let old = remembered.filter { $0.person == person }.subtracting(wanted)
            guard !wanted.isEmpty || !old.isEmpty else { continue }
            var there = try await days(of: person, wanted.union(old))
            for days in there.values { library.learn(from: days.values) }
            var work: [Record] = []
            for (shelf, series) in made {
                let (entry, records) = compare(
                    shelf, series, there.removeValue(forKey: SeriesName(shelf, series)) ?? [:])
                add(entry, to: &report)
                work += records
            }
            for name in old.sorted(by: { $0.key < $1.key }) {
                let isMade = library.settings.makes(name.series, of: name.type)
                let dates = (there[name] ?? [:]).values.filter { !isMade || !library.stays($0) }
                    .map(\.day.date).sorted()
                add(
                    Report.Series(
                        person: person, type: name.type.rawValue, series: name.series, days: 0, stored: 0,
                        retracted: dates.count, from: dates.first?.text, to: dates.last?.text), to: &report)
                let reason = isMade ? DayPublisher.vanished : DayPublisher.unmade
                work += dates.map { publisher.retraction(name, $0, reason) }
            }
            guard !isDryRun else { continue }
            if !wanted.isSubset(of: remembered) { try await publisher.remember(wanted) }
            try await store(work, progress, &rejections)
            // Days whose retraction was rejected must be found again.
            for name in old where !rejections.concern(name) && !library.settings.makes(name.series, of: name.type) {
                try await publisher.forget(name)
            }
        }
        for person in Set(remembered.map(\.person)).subtracting(names).sorted() {
            let (entries, work) = try await daysWithoutReadings(person, remembered)
            for entry in entries { add(entry, to: &report) }
            if !isDryRun { try await store(work, progress, &rejections) }
        }
        report.rejected = rejections.count
        return (report, rejections)
    }

    /// Retracts days of persons missing from `hub.conf` if they are based on a reading that is no longer theirs.
    ///
    /// - Parameter readings: the start times of lost readings, by person.
    func takeBack(_ readings: [String: [Int64]], _ rejections: inout Rejections) async throws {
        guard !readings.isEmpty else { return }
        let remembered = try await publisher.remembered()
        for (person, starts) in readings.sorted(by: { $0.key < $1.key }) {
            // The person's zone is unknown, so allow two days on each side.
            let dates = starts.map { start in
                let day = Int(start / 86_400_000_000)
                return day - 2...day + 2 + SeriesRules.maximumDays
            }
            for span in Self.spans(dates) {
                try await store(try await daysWithoutReadings(person, remembered, span).work, { _, _ in }, &rejections)
            }
        }
    }

    /// Finds the days to retract of a person missing from `hub.conf`: those based on a reading that is no longer theirs.
    private func daysWithoutReadings(
        _ person: String, _ remembered: Set<SeriesName>, _ span: ClosedRange<Int>? = nil
    ) async throws -> (entries: [Report.Series], work: [Record]) {
        let own = remembered.filter { $0.person == person }
        let there: [SeriesName: [LocalDate: StoredDay]]
        do { there = try await days(of: person, own, span) } catch let error as AskError where error.code == .refused {
            return ([], [])  // The hub has forgotten the person, or this instance may no longer read it.
        }
        var (entries, work): ([Report.Series], [Record]) = ([], [])
        for (name, days) in there.sorted(by: { $0.key.key < $1.key.key }) {
            let gone = days.values.filter(library.isOfRemovedPerson).map(\.day.date).sorted()
            entries.append(
                Report.Series(
                    person: person, type: name.type.rawValue, series: name.series, days: days.count - gone.count,
                    stored: 0, retracted: gone.count, from: gone.first?.text, to: gone.last?.text))
            work += gone.map { publisher.retraction(name, $0, DayPublisher.vanished) }
        }
        return (entries, work)
    }

    /// Settles days that the remaining readings do not determine: some are kept, the others are retracted.
    func settle(_ edits: [ReadingIndex.Edit], _ rejections: inout Rejections) async throws {
        for (shelf, edits) in Dictionary(grouping: edits, by: \.shelf).sorted(by: { $0.key < $1.key }) {
            let table = library.shelves[shelf]
            let names = table.history.rules.indices.map { SeriesName(table, $0) }
            var there: [SeriesName: [LocalDate: StoredDay]] = [:]
            for span in Self.spans(edits.map { Int($0.change.day)...Int($0.change.day) }) {
                let days = try await days(of: table.key.person, Set(names), span)
                there.merge(days) { $0.merging($1) { $1 } }
            }
            let work = edits.compactMap { edit -> Record? in
                let (name, date) = (names[edit.change.series], LocalDate(edit.change.day))
                guard let had = there[name]?[date], !library.stays(had) else { return nil }
                return publisher.retraction(name, date, DayPublisher.vanished)
            }
            try await store(work, { _, _ in }, &rejections)
        }
    }

    /// Merges dates (days since 1970) into few ranges with few unneeded days.
    static func spans(_ dates: [ClosedRange<Int>]) -> [ClosedRange<Int>] {
        dates.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { spans, next in
            if let last = spans.last, next.lowerBound <= last.upperBound + 31 {
                spans[spans.count - 1] = last.lowerBound...max(last.upperBound, next.upperBound)
            } else {
                spans.append(next)
            }
        }
    }

    private var publisher: DayPublisher { DayPublisher(hub: hub, library: library) }

    private func add(_ series: Report.Series, to report: inout Report) {
        report.days += series.days
        report.stored += series.stored
        report.retracted += series.retracted
        report.series.append(series)
    }

    private func store(_ work: [Record], _ progress: Progress, _ rejections: inout Rejections) async throws {
        guard !work.isEmpty else { return }
        hub.logger.info("days are being stored", metadata: ["days": "\(work.count)"])
        var told = 0
        for start in stride(from: 0, to: work.count, by: 1_000) {
            let piece = Array(work[start..<min(start + 1_000, work.count)])
            // This many days are history, however they are divided.
            try await publisher.store(piece, isBackfill: work.count > DayPublisher.maximumPublishedDays, &rejections)
            told += piece.count
            await progress(told, work.count)
        }
    }

    /// The hub's days of a person's series.
    ///
    /// - Parameter span: the first and last date, in days since 1970; nil for all.
    private func days(
        of person: String, _ series: Set<SeriesName>, _ span: ClosedRange<Int>? = nil
    ) async throws -> [SeriesName: [LocalDate: StoredDay]] {
        var filter = QueryRequest.Filter()
        filter.types = Set(series.map(\.type.rawValue)).sorted()
        (filter.persons, filter.kinds, filter.sources) = ([person], [.day], [hub.kind])
        if let span {
            filter.from = Timestamp(microseconds: Int64(span.lowerBound) * 86_400_000_000)
            // No day follows the last that a timestamp can represent.
            let end = Int64(span.upperBound + 1) * 86_400_000_000
            filter.to = Timestamp.range.contains(end) ? Timestamp(microseconds: end) : nil
        }
        var days: [SeriesName: [LocalDate: StoredDay]] = [:]
        for try await page in hub.query(filter, order: span == nil ? nil : .time) {
            for stored in page.records {
                guard case .day(let day) = stored.record else { continue }
                let name = SeriesName(person: person, type: day.type, series: day.series)
                guard series.contains(name) else { continue }
                days[name, default: [:]][day.date] = StoredDay(day: day, sequence: stored.sequence)
            }
        }
        return days
    }

    /// The records to store and retract so that a series has the expected days.
    private func compare(
        _ shelf: SeriesTable, _ series: Int, _ there: [LocalDate: StoredDay]
    ) -> (Report.Series, [Record]) {
        let today = library.today(of: shelf)
        var (there, changed): ([LocalDate: StoredDay], [LocalDate: Record]) = (there, [:])
        let days = shelf.history.series(series, through: today)
        var stored = 0
        for day in days {
            let wanted = shelf.record(day, of: series, source: hub.source())
            let isThere = there[wanted.date]?.day.says(wanted) == true
            if !isThere, library.isUncertain(shelf.key, day.day, from: day.observedOn) { continue }
            there[wanted.date] = nil
            if isThere { continue }
            changed[wanted.date] = .day(wanted)
            stored += 1
        }
        let name = SeriesName(shelf, series)
        // Keep a day that had begun before a change of zone; it begins again within hours.
        for (date, had) in there where date.daysSinceEpoch != Int(today) + 1 && !library.stays(had) {
            changed[date] = publisher.retraction(name, date, DayPublisher.vanished)
        }
        let dates = changed.keys.sorted()
        let entry = Report.Series(
            person: name.person, type: name.type.rawValue, series: name.series, days: days.count, stored: stored,
            retracted: dates.count - stored, from: dates.first?.text, to: dates.last?.text)
        return (entry, dates.compactMap { changed[$0] })
    }
}

extension DayValue {
    /// Whether both days are equal, except for members that the hub adds.
    fileprivate func says(_ other: DayValue) -> Bool {
        value == other.value && unit == other.unit && method == other.method && observedOn == other.observedOn
            && age == other.age && basis == other.basis && zone == other.zone && metadata == other.metadata
            && source == other.source
    }
}
