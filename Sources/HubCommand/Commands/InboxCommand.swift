import ArgumentParser
import HubWire
import Samples

struct InboxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inbox",
        abstract: "What nobody was found for, and how to say whose it is.",
        discussion: """
            A record that the rules of hub.conf can give to nobody is kept here and reaches
            no sink. What was measured together is one line. Where a weight fits several
            people, or nobody well enough, WHY names them with their probabilities.

            Examples:
              hub inbox
              hub assign 1043 --to anna               assigns the whole line
              hub assign --rules                      after hub.conf has changed
              hub inbox --json | jq -r .why | sort | uniq -c

            Exit codes: 0, also when it is empty; 69 no hub answers.
            """)

    @Flag(help: "A JSON object per line: {\"number\",\"numbers\",\"time\",\"source\",\"values\",\"why\",\"assign\"}.")
    var json = false
    @OptionGroup var options: ConfigurationOptions

    func run() throws {
        let door = try DoorClient(endpoint: try options.endpoints().door, command: "inbox")
        let weighings = try InboxReader.read(door)
        var output = Output()
        if json {
            for weighing in weighings { try output.line(try JSON.line(weighing.summary)) }
            return try output.flush()
        }
        guard !weighings.isEmpty else { return Terminal.say("the inbox is empty") }
        var table = Table([("TIME", .left), ("SOURCE", .left), ("VALUES", .left), ("WHY", .left), ("ASSIGN", .left)])
        for weighing in weighings {
            let summary = weighing.summary
            table.add([
                summary.time, summary.source, summary.values.joined(separator: ", "), summary.why, summary.assign,
            ])
        }
        for line in table.takeLines() { try output.line(line) }
        try output.flush()
    }
}

/// What was measured together and waits for a person.
struct Weighing {
    private(set) var records: [StoredRecord]

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

    var summary: Summary {
        let texts = records.map(RecordText.init)
        let first = records.min { $0.number < $1.number }
        let number = first?.number ?? 0
        // The weight knows best: it is what tells people apart.
        let telling = records.first { $0.type == .weight } ?? first
        var why = ""
        if case .nobody(let reason)? = telling?.assignment { why = reason }
        return Summary(
            number: number, numbers: records.map(\.number).sorted(), time: texts.first?.time ?? "",
            source: texts.first?.source ?? "",
            values: zip(records, texts).compactMap { record, text in
                if case .sample(let sample) = record.record, case .correlation = sample.value { return nil }
                return "\(text.type) \(text.value)"
            }, why: why, assign: "hub assign \(number) --to NAME")
    }

    init(_ record: StoredRecord) { records = [record] }

    mutating func add(_ record: StoredRecord) { records.append(record) }
}

/// Reads the inbox, group by group, in the order of time.
enum InboxReader {
    static func read(_ door: DoorClient) throws -> [Weighing] {
        var query = QueryRequest(id: 0, order: .time)
        query.filter.isOfNobody = true
        var (weighings, places): ([Weighing], [String: Int]) = ([], [:])
        var reader = RecordReader()
        try door.pages(query) { records, _ in
            for bytes in records {
                let record = try reader.record(bytes)
                guard case .sample(let sample) = record.record, let group = sample.group else {
                    weighings.append(Weighing(record))
                    continue
                }
                // A group is of one plugin: another's may have the same name.
                let name = "\(sample.source.plugin)/\(group)"
                if let place = places[name] {
                    weighings[place].add(record)
                } else {
                    places[name] = weighings.count
                    weighings.append(Weighing(record))
                }
            }
        }
        return weighings
    }
}
