import ArgumentParser
import HealthText
import HubClient
import HubWire
import Samples

struct SourcesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sources",
        abstract: "List the sources of each type and person, with their numbers of records and dates.",
        discussion: """
            A source is a plugin, and the device and account that it reads from. Retracted
            records do not count. Dates are in each person's zone.

            For each type and person the best source comes first: if several sources
            counted the same steps at the same time, the best one counts (hub stats, hub
            days). Sources of sums, such as a total of each hour, come before all others.
            The others come in the order of their first records in the hub; entries by hand
            come last. To change the order, add a table to hub.conf, then hub apply:
              [priority.steps]
              types = ["stepCount"]            # all types if not set
              persons = ["anna"]               # all persons if not set
              sources = ["watch", "phone/020000003001", "hand"]   # the best first

            Examples:
              hub sources
              hub sources weight stepCount --person anna
              hub sources heartRate --from 30d
              hub sources --json | jq -r '.[].source.device'   in the same order

            The command reads all records that fit: millions take some seconds.

            Exit codes: 0, also when there is none; 64 no such type or person; 69 no hub
            answers.
            """)

    @Argument(help: "Types, or other names of them.") var types: [String] = []
    @OptionGroup var only: RecordFilterOptions
    @Flag(help: "One JSON document.") var json = false
    @OptionGroup var options: ConfigurationOptions

    func run() throws {
        let types = try TypeArgument.resolved(types)
        let door = try options.door("sources")
        let welcome = try door.open()
        let found = try door.sources(try only.filter(types, by: welcome.clock(of: only.person))) { count in
            if Terminal.showsProgress { Terminal.progress(NumberText.count(count, "record")) }
        }
        if Terminal.showsProgress { Terminal.progress("") }
        let sources = SourcesCommand.ordered(found)
        if json { return try Output.json(try JSON.line(sources)) }
        if sources.isEmpty { return Terminal.say("no records") }
        let standing = SourceRankReason(welcome.persons)
        try Output.print(SourcesCommand.lines(sources, standing, options.readingUnits()))
        if let advice = SourcesCommand.advice(sources) { Terminal.say(advice) }
    }

    /// Sorts by type and person, then by rank.
    static func ordered(_ sources: [SourceTally]) -> [SourceTally] {
        sources.sorted {
            ($0.type, $0.person ?? "", $0.rank ?? .max, $0.source.plugin) < (
                $1.type, $1.person ?? "", $1.rank ?? .max, $1.source.plugin
            )
        }
    }

    /// A table; sources that have a rank among others of the type and person show it.
    static func lines(_ sources: [SourceTally], _ standing: SourceRankReason, _ units: ReadingUnits) -> [String] {
        let hasZones = Set(sources.map { units[$0.person].zone }).count > 1
        var table = Table(["TYPE", "PERSON", .right("ORDER"), "SOURCE", .right("RECORDS"), "FIRST", "LAST", "ORDER BY"])
        var places: [[String?]: Int] = [:]
        for tally in sources {
            places[[tally.type, tally.personId], default: 0] += 1
            let place = tally.rank == nil ? "" : String(places[[tally.type, tally.personId]] ?? 1)
            table.add([
                tally.type, tally.person.map(units.name) ?? Topic.nobody, place, SourceRankReason.name(tally),
                String(tally.count), date(tally.first, units[tally.person], hasZones),
                date(tally.last, units[tally.person], hasZones), tally.rank == nil ? "" : standing.reason(tally),
            ])
        }
        return table.takeLines()
    }

    /// How to change the order of sources, if the order matters for a type that is added up.
    static func advice(_ sources: [SourceTally]) -> String? {
        for (tally, next) in zip(sources, sources.dropFirst())
        where tally.rank != nil && tally.type == next.type && tally.personId == next.personId
            && TypeRegistry.standard.resolve(tally.type)?.aggregation == .cumulative
        {
            return
                "if several counted \(tally.type) at the same time, the first counts; a table [priority.NAME] of hub.conf"
                + " changes that (hub help sources)"
        }
        return nil
    }

    /// - Parameter hasZones: whether the table has dates in several zones.
    private static func date(_ text: String, _ reader: DisplayPreferences, _ hasZones: Bool) -> String {
        guard let time = (try? Timestamp(parsing: text)).map(reader.local) else { return text }
        let offset = time.offsetMinutes == nil ? "Z" : time.text.suffix(6)
        return time.localDate.text + (hasZones ? " \(offset)" : "")
    }
}
