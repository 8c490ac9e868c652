import ArgumentParser
import HubWire
import Samples

struct RetractCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retract",
        abstract: "Take records back: the dog stood on the scale.",
        discussion: """
            A retracted record is in no list any more, listeners and sinks are told, and
            no source can bring it back. hub trace still knows it. Shows what it is about
            and asks before it does it.

            Examples:
              hub samples weight --last 5             NUMBER is the last column
              hub retract 1043
              hub retract 1043 1044 --reason 'the dog' --yes
              hub retract 1043 --dry-run --json

            Exit codes: 0 retracted, now or before; 1 there is no such record, nothing was
            changed, or the answer was no; 64 --yes is missing where nobody can be asked;
            69 no hub answers.
            """)

    @Argument(help: "Numbers of records.")
    var number: [Int64]
    @Option(help: ArgumentHelp("Why, for whoever reads the retraction.", valueName: "text"))
    var reason: String?
    @Flag(help: "Change nothing; show what would be done.")
    var dryRun = false
    @Flag(help: "Do not ask.")
    var yes = false
    @Flag(
        help:
            "One JSON document: {\"records\":[{\"number\",\"outcome\",…}]}; outcome is stored, or duplicate for what was retracted before."
    )
    var json = false
    @OptionGroup var options: ConfigurationOptions

    /// What the hub takes at a time.
    private static let most = 1_000

    func validate() throws {
        if number.isEmpty || number.count > RetractCommand.most {
            throw ValidationError("Give 1 to \(RetractCommand.most) numbers.")
        }
        if let wrong = number.first(where: { $0 < 1 }) { throw ValidationError("\(wrong) is no number of a record.") }
    }

    func run() throws {
        let door = try DoorClient(endpoint: try options.endpoints().door, command: "retract")
        let numbers = number.enumerated().filter { !number[..<$0.offset].contains($0.element) }.map(\.element)
        let arguments = try RetractArguments(numbers: numbers, reason: reason).json()
        let expected = try result(door, arguments, isDryRun: true)
        let unknown = expected.entries.filter { $0.outcome == "unknown" }.map { String($0.number) }
        guard unknown.isEmpty else {
            throw Failure(.notWell, "there is no record \(unknown.joined(separator: ", ")); nothing was changed")
        }
        if dryRun {
            if json { return try Output.print(expected.text) }
            for line in try listing(door, numbers) + expected.lines(isDryRun: true) { try Output.print(line) }
            return
        }
        if !yes { try confirm(try listing(door, numbers), count: numbers.count) }
        let done = try result(door, arguments, isDryRun: false)
        if json { return try Output.print(done.text) }
        for line in done.lines(isDryRun: false) { try Output.print(line) }
    }

    private func confirm(_ listing: [String], count: Int) throws(Failure) {
        guard Terminal.canAsk else {
            throw Failure(.usage, "nobody can be asked here; say --yes, or look first with --dry-run")
        }
        for line in listing { Terminal.say(line) }
        Terminal.progress("Retract \(count == 1 ? "this record" : "these \(count) records")? [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer == "y" || answer == "yes" else { throw Failure(.notWell, "nothing was changed") }
    }

    /// The records as they are now; those that were retracted before are in no list.
    private func listing(_ door: DoorClient, _ numbers: [Int64]) throws -> [String] {
        var query = QueryRequest(id: 0)
        query.filter.numbers = numbers
        var (table, count) = (RecordText.table(), 0)
        var reader = RecordReader()
        try door.pages(query) { records, _ in
            for record in records {
                table.add(RecordText(try reader.record(record)).cells)
                count += 1
            }
        }
        return count == 0 ? [] : table.takeLines()
    }

    private func result(_ door: DoorClient, _ arguments: RawJSON, isDryRun: Bool) throws -> RetractResult {
        guard let answer = try door.command("retract", arguments: arguments, isDryRun: isDryRun) else {
            throw Failure(.dialogue, "the hub retracted without saying what")
        }
        return try RetractResult(answer)
    }
}

private struct RetractArguments: Encodable {
    let numbers: [Int64]
    let reason: String?

    func json() throws -> RawJSON { RawJSON(trusted: Array(try JSON.line(self).utf8)) }
}

/// What the hub says a retraction did, or would do.
struct RetractResult {
    struct Entry: Decodable, Hashable {
        let number: Int64
        /// `stored`, `duplicate` or `unknown`.
        let outcome: String
    }
    private struct Body: Decodable { let records: [Entry] }

    let entries: [Entry]
    let text: String

    init(_ answer: RawJSON) throws(Failure) {
        entries = try JSON.answer(Body.self, answer).records
        text = answer.text
    }

    func lines(isDryRun: Bool) -> [String] {
        entries.map { entry in
            switch entry.outcome {
            case "stored": "\(entry.number) \(isDryRun ? "would be retracted" : "retracted")"
            case "duplicate": "\(entry.number) was retracted before"
            default: "\(entry.number) \(entry.outcome)"
            }
        }
    }
}
