import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire
import Samples

struct SamplesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "samples", abstract: "List measurements.",
        discussion: """
            Types are named as in HealthKit, without its prefixes: weight (also bodyMass),
            bodyFatPercentage, heartRate, stepCount. Without a type, all are shown. Times,
            dates and values are as their person reads them (zone, units and locale in
            hub.conf); --json has every digit, and the times as they were measured. A
            workout stands with the time without pauses, energy and distance.

            Examples:
              hub samples weight --last 10
              hub samples weight bodyFatPercentage --from 2026-03-01 --to 2026-03-31
              hub samples weight --from 30d --person anna --json | jq .value
              hub samples weight --where 'value > 80kg and not userEntered'
              hub samples weight heartRate --latest   the most recent of each
              hub samples sleepAnalysis --order -end --where 'category asleepREM, 4'
              hub samples --nobody                    records without a person
              hub samples --guest                     readings of guests
              hub samples --retracted                 retracted records, days too
              hub samples weight --json --since 0 > all.jsonl
              hub samples weight --json --since "$(tail -1 all.jsonl | jq -r .cursor)"

            --from and --to take a date (2026-03-01, 1.3.2026), today, yesterday, "2 days
            ago", "last monday", each with a time (yesterday 7:30, 8:15pm) or without, a
            span back from now (90min, 12h, 7d, 4w, 5y) or an RFC 3339 time
            (2026-03-01T07:30:00+01:00). A date in --to includes the whole day. Days are in
            the zone of the person of --person, or of the only person; for several persons
            in the zone of [hub] in hub.conf, else this machine's.

            --where takes conditions with and, or, not and parentheses:
              value > 80kg             any unit that fits; >= = != <= < likewise
              duration >= 30min        from start to end
              total activeEnergyBurned > 300kcal    of all in the record's group
              category asleepCore, 5   activity running    names or numbers
              userEntered              typed in by a person
              metadata foodType        is there; compared: metadata a > 5
                                       metadata a in 1, "two"
              partOf workout           partOf correlation, partOf 1043
              contains bloodPressureSystolic (value > 140mmHg)
                                       a record of this type in its group meets this
              device.name = "Watch"    also source. and revision.; none for no text
              type weight, height      number 12, 13    key "a b"
            A record without the property does not meet a condition, not even with !=.

            On a terminal, without --last, --latest, --order, --since, --json or a span in
            --from or --to, the newest 50 are shown; a pipe or a file gets all of them.

            --since prints the records that changed after a cursor, in the order of the
            changes, and the cursor for the next time: with --json as a last line
            {"cursor":"..."}, else on stderr. Each record replaces the one that you have
            under its number; a retraction removes it, because it was taken back or no
            longer fits your question. Ask the same question each time: with a date in
            --from, not a span. After a restore, or if retractions are no longer known, you
            must begin again: --since 0.

            An event that came from several sources is shown once, as the record that came
            first; --mirrors shows all of them. --json prints all, each with the numbers of
            the others in its member mirrors (without --since).

            Exit codes: 0, also when there is none; 64 no such type or person; 69 no hub
            answers.
            """)

    @OptionGroup var typeNames: TypeNames
    @OptionGroup var only: RecordFilterOptions
    @Option(help: ArgumentHelp("Only the newest n, the newest last.", valueName: "n")) var last: Int?
    // `-end` is the option's value, not another option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "By start (time), by end (end), downwards (-time, -end), by both (time,-end), or as it was stored (sequence).",
            valueName: "order"),
        transform: Self.order)
    var order: QueryRequest.Order?
    @Flag(help: "Only the most recent of each type and person: the one that ended last.") var latest = false
    @Option(
        help: ArgumentHelp("Only records that changed after this cursor, retractions too; 0: all.", valueName: "cursor")
    )
    var since: String?
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp("Only records that meet these; see above.", valueName: "conditions"))
    var condition: String?
    @Flag(help: "Only records that wait in the inbox for a person.") var nobody = false
    @Flag(help: "Only records that were assigned to a guest.") var guest = false
    @Flag(help: "Only retracted records; hub retract --undo brings back those retracted by hand.") var retracted = false
    @Flag(help: "All records of an event that came by several sources, not only the first.") var mirrors = false
    @Flag(help: "Units in words, such as 70 inches and 176.4 pounds.") var longUnits = false
    @Flag(help: "A JSON object per line, as on the feed, with the mirrors of each record.") var json = false
    @OptionGroup var options: ConfigurationOptions

    private static func order(_ text: String) throws -> QueryRequest.Order {
        if text == "sequence" { return .sequence }
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        let keys = words.compactMap { SortKey(rawValue: String($0)) }
        guard keys.count == words.count, (1...2).contains(keys.count), Set(keys.map(\.end)).count == keys.count else {
            throw ValidationError(
                "'\(text)' is none of: time, -time, end, -end, one by start and one by end such as time,-end, sequence")
        }
        return .by(keys)
    }

    func validate() throws {
        if let last, !(1...1_000_000).contains(last) {
            throw ValidationError("--last takes a number from 1 to 1000000.")
        }
        if last != nil, order != nil { throw ValidationError("--last has its own order: the newest last.") }
        if let since {
            if since != "0", Cursor(since) == nil {
                throw ValidationError("--since takes a cursor such as k7qz2m5a-1042, or 0.")
            }
            if last != nil || latest || order.map({ $0 != .sequence }) ?? false {
                throw ValidationError(
                    "--since comes in the order of the changes, all of it: no --last, --latest or --order.")
            }
        }
        if latest, last != nil || order != nil {
            throw ValidationError("--latest is one of each type and person: neither --last nor --order fits.")
        }
        if retracted, latest || condition != nil {
            throw ValidationError("--retracted: retracted records are not found by \(latest ? "--latest" : "--where").")
        }
        if [nobody, guest, !only.person.isEmpty].count(where: { $0 }) > 1 {
            throw ValidationError("--nobody, --guest and --person exclude each other.")
        }
    }

    func run() throws {
        let types = try TypeArgument.resolved(typeNames.all)
        let door = try options.door("samples")
        let welcome = try door.open()
        var query = try query(types, by: welcome.clock(of: nobody || guest ? [Topic.nobody] : only.person))
        let count = last ?? (isScreenful ? SamplesCommand.screenful : nil)
        if let count { (query.order, query.limit) = (.newestFirst, Int64(count) + (last == nil ? 1 : 0)) }
        var units = options.readingUnits()
        if longUnits { units.width = .long }
        var listing = SampleListing(isJSON: json, showsMirrors: mirrors, units, door)
        if let since {
            query.since = Cursor(since) ?? Cursor(epoch: welcome.epoch, sequence: 0)
            try changes(query, door, &listing)
        } else if let count {
            // Several sources may have recorded the same event.
            let joinsMirrors = !json && !mirrors
            if joinsMirrors { query.limit = Int64(count + 1) * 8 }
            var newest: [[UInt8]] = []
            try door.pages(query) { records, _ in newest += records.map { Array($0) } }
            let found = newest.count
            newest = joinsMirrors ? try Self.events(count, of: newest) : Array(newest.prefix(count))
            let isCut = last == nil && newest.count < found
            for record in newest.reversed() { try listing.add(record[...]) }
            try listing.endPage()
            if isCut {
                Terminal.say("these are the newest \(SamplesCommand.screenful); --last 1000 or --from 1y shows more")
            }
        } else {
            try door.pages(query) { records, _ in
                for record in records { try listing.add(record) }
                try listing.endPage()
            }
        }
        try listing.end(without: types == [TypeID.food.rawValue] ? SamplesCommand.foodHint : nil)
    }

    private static let foodHint =
        "a food that has only its energy is a record of that: hub samples \(TypeID.dietaryEnergyConsumed)"

    /// The records of the newest `count` events, the newest record first.
    private static func events(_ count: Int, of records: [[UInt8]]) throws -> [[UInt8]] {
        var reader = RecordReader()
        var (found, numbers, events): ([[UInt8]], Set<Int64>, Int) = ([], [], 0)
        for bytes in records {
            let record = try reader.record(bytes[...])
            if !record.mirrors.contains(where: numbers.contains) { events += 1 }
            if events > count { break }
            numbers.insert(record.number)
            found.append(bytes)
        }
        return found
    }

    /// Prints the changes and the cursor after them.
    private func changes(_ query: QueryRequest, _ door: DoorClient, _ listing: inout SampleListing) throws {
        var last = query.since
        do {
            try door.pages(query) { records, cursor in
                for record in records { try listing.add(record) }
                try listing.endPage()
                last = cursor ?? last
            }
        } catch let failure as Failure where failure.isForeignCursor {
            throw Failure(
                .usage,
                "\(failure.message); your copy of the records is out of date: discard it, and begin with --since 0")
        }
        listing.cursor = last
    }

    /// The number of newest records shown on a terminal if no option sets one.
    static let screenful = 50

    /// Whether to show only the newest records, because a person reads them and set neither a number nor a time span.
    private var isScreenful: Bool {
        Output.isRead && !json && last == nil && !latest && order == nil && since == nil && only.from == nil
            && only.to == nil
    }

    /// The question, with days by that clock.
    func query(_ types: [String], by clock: PersonClock) throws(Failure) -> QueryRequest {
        var filter = try only.filter(types, by: clock)
        filter.isOfNoPerson = nobody || guest
        if filter.isOfNoPerson { filter.isGuest = guest }
        if retracted { filter.kinds = [.retraction] }
        if let condition { filter.condition = try WhereArgument.condition(condition, of: types) }
        var query = QueryRequest(id: 0, filter: filter, limit: last.map(Int64.init))
        query.isLatest = latest
        query.marksMirrors = since == nil && !retracted && !latest
        if !latest { query.order = last != nil ? .newestFirst : order ?? (since == nil ? .time : .sequence) }
        return query
    }
}

/// Prints records page by page, as JSON or as a table.
struct SampleListing: ~Copyable {
    private let isJSON, showsMirrors: Bool
    private let units: ReadingUnits
    private let door: DoorClient
    private var output = Output()
    private var reader = RecordReader()
    private var table = RecordText.table()
    private var count = 0
    /// Shown records that have mirrors, and the number of mirrors that are not shown.
    private var shown: Set<Int64> = []
    private var repeats = 0
    /// The cursor for the next question about changes.
    var cursor: Cursor?

    init(isJSON: Bool, showsMirrors: Bool = true, _ units: ReadingUnits, _ door: DoorClient) {
        (self.isJSON, self.showsMirrors, self.units, self.door) = (isJSON, showsMirrors, units, door)
    }

    mutating func add(_ record: ArraySlice<UInt8>) throws {
        if isJSON {
            count += 1
            return try output.json(record)
        }
        let stored = try reader.record(record)
        if !showsMirrors, stored.mirrors.contains(where: shown.contains) {
            repeats += 1
            return
        }
        if !stored.mirrors.isEmpty { shown.insert(stored.number) }
        count += 1
        table.add(try RecordText(stored, units, door).cells)
    }

    /// Prints the page.
    mutating func endPage() throws {
        if !isJSON, count > 0 { for line in table.takeLines() { try output.line(line) } }
        try output.flush()
        if Terminal.showsProgress, count >= 1_000 { Terminal.progress(NumberText.count(count, "record")) }
    }

    /// Ends the list, with a hint if there were no records.
    ///
    /// - Parameter hint: shown to people if there were no records.
    consuming func end(without hint: String? = nil) throws {
        if isJSON, let cursor { try output.json(Array("{\"cursor\":\"\(cursor)\"}".utf8)[...]) }
        try output.flush()
        if Terminal.showsProgress, count >= 1_000 { Terminal.progress("") }
        if repeats > 0 {
            let are = repeats == 1 ? "is" : "are"
            let records = NumberText.count(repeats, "record")
            Terminal.say("\(records) \(are) not shown: the same events by other sources (--mirrors shows all)")
        }
        if count == 0, repeats == 0, !isJSON {
            Terminal.say(cursor == nil ? "no records" + (hint.map { "; \($0)" } ?? "") : "nothing has changed")
        }
        if let cursor, !isJSON { Terminal.say("go on with --since \(cursor)") }
    }
}
