import ArgumentParser
import HealthText
import HubClient
import HubWire
import Samples

struct InboxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox", abstract: "List records without a person and values that look wrong.",
        discussion: """
            A record that the rules of hub.conf assign to no person is kept here and
            reaches no sink. Records measured together are one line. If a weight fits
            several people, or none well enough, WHY names them with their probabilities.

            A second table has implausible records: a value that a body hardly has, a time
            in the future. They reach sinks with a mark, and no day is made from them. To
            remove the mark, edit the record; the same value again confirms it.

            Examples:
              hub inbox
              hub assign 1043 --to anna               assigns the whole line
              hub assign 1043 --guest                 it was a guest: out of the inbox
              hub assign --rules                      after hub.conf has changed
              hub edit 1050 410kg                     it is so
              hub retract 1050                        it is not
              hub inbox --json | jq -r .why | sort | uniq -c

            Exit codes: 0, also when it is empty; 69 no hub answers.
            """)

    @Flag(
        help: """
            A JSON object per line: {"number","numbers","time","source","values","why","assign"}; of the second table \
            {"number","time","person","type","value","source","why","edit"}.
            """)
    var json = false
    @Flag(help: "All of it; else the newest 1,000 samples of each table.")
    var all = false
    @OptionGroup var options: ConfigurationOptions

    func run() throws {
        let door = try options.door("inbox")
        var reader = InboxReader(door, all: all)
        let weighings = try reader.weighings()
        let implausible = try reader.implausible()
        var output = Output()
        if json {
            for weighing in weighings { try output.json(Array(try JSON.line(weighing.summary()).utf8)[...]) }
            for sample in implausible { try output.json(Array(try JSON.line(ImplausibleSample(sample)).utf8)[...]) }
            return try output.flush()
        }
        guard !weighings.isEmpty || !implausible.isEmpty else { return Terminal.say("the inbox is empty") }
        let units = options.readingUnits()
        if !weighings.isEmpty {
            try Self.print(weighings, units, to: &output)
            if weighings.count > 1 { try output.line("all of one person: hub assign --inbox --to NAME") }
        }
        if !weighings.isEmpty, !implausible.isEmpty { try output.line("") }
        if !implausible.isEmpty { try Self.print(implausible.map { ImplausibleSample($0, units) }, to: &output) }
        if reader.isCut { try output.line("these are the newest; older ones: hub inbox --all") }
        try output.flush()
    }

    private static func print(_ weighings: [PendingWeighing], _ units: ReadingUnits, to output: inout Output) throws {
        var table = Table(["TIME", "SOURCE", "VALUES", "WHY", "ASSIGN"])
        for weighing in weighings {
            let summary = weighing.summary(units)
            table.add([
                summary.time, summary.source, summary.values.joined(separator: ", "), summary.why, summary.assign,
            ])
        }
        for line in table.takeLines() { try output.line(line) }
    }

    private static func print(_ samples: [ImplausibleSample], to output: inout Output) throws {
        var table = Table(["TIME", "PERSON", "SOURCE", "IMPLAUSIBLE", "WHY", "EDIT"])
        for sample in samples {
            table.add([
                sample.time, sample.person, sample.source, "\(sample.type) \(sample.value)", sample.why, sample.edit,
            ])
        }
        for line in table.takeLines() { try output.line(line) }
    }
}

/// A sample that looks wrong, with the command to correct it.
struct ImplausibleSample: Encodable, Hashable {
    var number: Int64
    var time: String
    var person: String
    var type: String
    var value: String
    var source: String
    var why: String
    /// The command that corrects or confirms it.
    var edit: String

    /// - Parameter units: as for ``PendingWeighing/summary(_:)``.
    init(_ stored: StoredRecord, _ units: ReadingUnits? = nil) {
        var plain = stored
        plain.implausible = []
        let text = RecordText(plain, units ?? ReadingUnits([]))
        let exact = units == nil ? ValueText.exact(stored) : nil
        (number, time, person, type) = (stored.number, text.time, text.person, text.type)
        (value, source) = (exact ?? text.value, text.source)
        why = PlausibilityWarnings.of(stored, for: (units ?? ReadingUnits([]))[stored.assignment.person?.name]).joined(
            separator: "; ")
        edit =
            "hub edit \(stored.number)" + (stored.implausible.contains(.value) ? " VALUE" : "")
            + (stored.implausible.contains(.start) ? " --at TIME" : "")
            + (stored.implausible.contains(.end) ? " --to TIME" : "")
    }
}

extension PendingWeighing {
    struct Summary: Encodable, Hashable {
        /// The one to name: the others go along.
        var number: Int64
        var numbers: [Int64]
        var time: String
        var source: String
        var values: [String]
        var why: String
        /// The command that assigns it.
        var assign: String
    }

    /// - Parameter units: how people read the values; without it, values have every digit and the unit of the store.
    func summary(_ units: ReadingUnits? = nil) -> Summary {
        let texts = records.map { RecordText($0, units ?? ReadingUnits([])) }
        return Summary(
            number: number, numbers: records.map(\.number).sorted(), time: texts.first?.time ?? "",
            source: texts.first?.source ?? "",
            values: zip(records, texts).compactMap { record, text in
                if case .sample(let sample) = record.record, case .correlation = sample.value { return nil }
                let exact = units == nil ? ValueText.exact(record) : nil
                return "\(text.type) \(exact ?? text.value)"
            }, why: units.map { why($0.name) } ?? why, assign: "hub assign \(number) --to NAME")
    }
}

/// Reads the inbox in the order of time.
struct InboxReader {
    /// Maximum number of samples in each table unless all are requested: with more, a person should correct the rule or the source instead.
    static let usual = 1_000

    let door: DoorClient
    let readsAll: Bool
    /// Whether there are older samples that were not read.
    private(set) var isCut = false

    init(_ door: DoorClient, all: Bool) { (self.door, readsAll) = (door, all) }

    /// Samples that are marked as implausible and not retracted.
    mutating func implausible() throws -> [StoredRecord] { try newest { $0.isImplausible = true } }

    /// Samples without a person, group by group.
    mutating func weighings() throws -> [PendingWeighing] {
        PendingWeighing.all(of: try newest { $0.isOfNoPerson = true })
    }

    private mutating func newest(_ filter: (inout QueryRequest.Filter) -> Void) throws -> [StoredRecord] {
        var query = QueryRequest(id: 0, order: .newestFirst, limit: readsAll ? nil : Int64(InboxReader.usual + 1))
        filter(&query.filter)
        // A guest's readings do not wait.
        query.filter.isGuest = false
        var samples = try door.records(query)
        if !readsAll, samples.count > InboxReader.usual {
            isCut = true
            samples.removeLast()
        }
        return samples.reversed()
    }
}
