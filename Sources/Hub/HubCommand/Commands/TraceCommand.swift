import ArgumentParser
import HubClient
import HubWire
import Samples

struct TraceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace", abstract: "Show a record's history: its versions, retractions and deliveries.",
        discussion: """
            The number is the last column of hub samples; it never changes. Of a record
            with many versions the newest 50 are shown; --all shows the others after them,
            a page at a time.

            Examples:
              hub trace 1043
              hub trace 1043 --all
              hub trace 1043 --json | jq '.versions[].recordedAt'

            With --json there is one document, with --all one for each page, a line each.

            Records that were erased, or removed by a rule of hub.conf, have no history
            any more. If such a rule thinned them, their figures of each day stay; hub days
            shows them as series kept.PLUGIN.

            Exit codes: 0; 1 there is no such record; 69 no hub answers.
            """)

    @Argument(help: "The number of a record.") var number: Int64
    @Flag(help: "All versions, and all days that are made of it, however many there are.") var all = false
    @Flag(help: "One JSON document, as the hub gives it.") var json = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if number < 1 { throw ValidationError("\(number) is not the number of a record.") }
    }

    func run() throws {
        let door = try options.door("trace")
        var next: String?
        repeat {
            let answer = try story(door, next)
            guard answer.isObject else { throw try unknown(door) }
            let isFirst = next == nil
            next = RawMembers.members(of: answer.bytes[...])["next"].flatMap { RawJSON(trusted: Array($0)).textValue }
            if json {
                try Output.json(answer.text)
            } else {
                let text = try TraceText(
                    answer, options.readingUnits(), isFirst: isFirst, showsRest: all,
                    standing: { try TraceCommand.standing(of: $0, door) }, workout: { try door.workoutFigures(of: $0) })
                try Output.print(text.lines)
            }
        } while all && next != nil
    }

    /// The reason why a record counts or not: other records of its event or, in sums, other sources of its time.
    private static func standing(of stored: StoredRecord, _ door: DoorClient) throws -> String? {
        guard case .sample(let sample) = stored.record, let person = stored.assignment.person?.name else { return nil }
        let mirrors = try mirrors(of: stored.number, door)
        guard !mirrors.isEmpty || TypeRegistry.standard.type(sample.type)?.aggregation == .cumulative else {
            return nil
        }
        let welcome = try door.open()
        var filter = QueryRequest.Filter()
        (filter.types, filter.persons) = ([sample.type.rawValue], [person])
        // For a record without a duration, search the microsecond of its start.
        filter.from = sample.start
        filter.to = sample.end.microseconds > sample.start.microseconds ? sample.end : sample.start.next
        let tallies = try door.sources(filter)
        let standing = SourceRankReason(welcome.persons)
        return mirrors.isEmpty
            ? standing.line(of: sample.source, among: tallies)
            : standing.line(of: stored, mirrors: mirrors, among: tallies)
    }

    /// The records of other sources about the same event.
    private static func mirrors(of number: Int64, _ door: DoorClient) throws -> [StoredRecord] {
        let numbers = try door.records([number]).first?.mirrors ?? []
        return numbers.isEmpty ? [] : try door.records(numbers)
    }

    private func unknown(_ door: DoorClient) throws -> Failure {
        let newest = try door.open().head
        let why =
            number > newest
            ? "; numbers go up to \(newest)"
            : ": it was erased, or thinned or removed by a rule of hub.conf (hub retention, hub days), or this is the number of a later version"
        return Failure(.unhealthy, "there is no record \(number)\(why)")
    }

    /// Maximum number of versions on a page, if only the newest are shown.
    private static let shownVersions: Int64 = 50

    private func story(_ door: DoorClient, _ next: String?) throws -> RawJSON {
        do {
            let limit = all || json ? nil : TraceCommand.shownVersions
            return try door.ask(.trace, number: number, limit: limit, next: next)
        } catch let failure as Failure where failure.exit == .usage {
            throw try unknown(door)  // The question had only the number, so the number must be wrong.
        }
    }
}
