import ArgumentParser
import HealthText
import HubClient
import HubWire
import Samples

struct RetractCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retract", abstract: "Take records back, such as when the dog stood on the scale.",
        discussion: """
            A retracted record is in no list any more, listeners and sinks get a
            retraction, and no source can bring it back. hub trace still shows it, and
            --undo brings it back. A meal, a blood pressure and a workout go and come back
            with all their members. The command shows the records and asks first.

            Examples:
              hub samples weight --last 5             NUMBER is the last column
              hub retract 1043
              hub retract 1043 1044 --reason 'the dog' --yes
              hub retract 1043 --dry-run --json
              hub retract 1043 --undo
              hub retract --type heartRate --from yesterday --to yesterday --source hand
              hub retract --type heartRate --from yesterday --source hand --undo

            --from and --to as in hub samples. A filter takes samples back, never days;
            with --undo it brings back samples that were retracted by hand.

            Exit codes: 0 retracted or brought back, now or before; 1 there is no such
            record, nothing was changed, or the answer was no; 64 no such type or person,
            or --yes is missing without a terminal; 69 no hub answers.
            """)

    @Argument(help: "Numbers of records, in place of the filter.") var number: [Int64] = []
    @OptionGroup var selection: RecordSelectionOptions
    @Option(help: ArgumentHelp("The reason, for readers of the retraction.", valueName: "text")) var reason: String?
    @Flag(help: "Bring back records that were retracted by hand.") var undo = false
    @Flag(help: "Change nothing; show what would be done.") var dryRun = false
    @Flag(help: "Do not ask.") var yes = false
    @Flag(
        help:
            "One JSON document: {\"records\":[{\"number\",\"outcome\",…}]}; outcome is stored, or duplicate if it was retracted before."
    )
    var json = false
    @OptionGroup var options: ConfigurationOptions

    /// Maximum number of records that the hub accepts in one command.
    private static let most = OwnCommands.mostNumbers

    func validate() throws {
        if number.isEmpty == selection.isEmpty {
            throw ValidationError(
                number.isEmpty
                    ? "Give numbers or a filter: nothing is taken back without."
                    : "Numbers and a filter exclude each other.")
        }
        if number.count > RetractCommand.most { throw ValidationError("Give 1 to \(RetractCommand.most) numbers.") }
        if undo, reason != nil { throw ValidationError("--undo takes no --reason.") }
        if let wrong = number.first(where: { $0 < 1 }) {
            throw ValidationError("\(wrong) is not the number of a record.")
        }
    }

    func run() throws {
        _ = try TypeArgument.resolved(selection.types)
        let door = try options.door("retract")
        let (records, listing) = try chosen(door)
        guard !records.isEmpty else { throw Failure(.unhealthy, "there is no such record; nothing was changed") }
        let expected = try retract(records, door, isDryRun: true)
        try expected.refuseRejections()
        if dryRun {
            if json { return try Output.json(expected.text) }
            try Output.print(listing + lines(expected))
            return
        }
        if !undo || !selection.isEmpty {
            let what = records.count == 1 ? "this record" : "these \(NumberText.count(records.count, "record"))"
            try ConsentPrompt.ask(
                undo ? "Bring \(what) back?" : "Retract \(what)?", about: yes ? [] : listing, isGiven: yes)
        }
        let done = try retract(records, door, isDryRun: false)
        if json {
            try Output.json(done.text)
        } else {
            // Without a question, the person has not yet seen the records.
            if yes, !undo { for line in listing { Terminal.say(line) } }
            try Output.print(lines(done))
        }
        try done.refuseRejections(isDone: true)
        if !undo, !selection.isEmpty { Terminal.say("the same with --undo brings them back") }
    }

    /// A record as it was found; it is changed only if it is still the same.
    private struct Found {
        var number: Int64
        /// 0 if it was not read.
        var sequence: Int64
    }

    private func retract(_ records: [Found], _ door: DoorClient, isDryRun: Bool) throws -> ManualAnswer {
        var done: Set<Int64> = []
        let answers = try stride(from: 0, to: records.count, by: Self.most).map { start in
            let part = records[start..<min(start + Self.most, records.count)]
            // Records that went along with one of an earlier part have been changed by that.
            let command = OwnCommands.Retract(
                numbers: part.map(\.number), seqs: part.map { done.contains($0.number) ? 0 : $0.sequence },
                reason: reason, undo: undo)
            let answer = try door.run(command, isDryRun: isDryRun).result
            done.formUnion(answer.entries.map(\.number))
            return answer
        }
        return ManualAnswer(joining: answers)
    }

    /// Maximum number of lines shown to the person for a filter.
    private static let shown = 20

    /// The chosen records, and the lines that show them.
    private func chosen(_ door: DoorClient) throws -> (records: [Found], listing: [String]) {
        guard !selection.isEmpty else {
            let numbers = number.enumerated().filter { !number[..<$0.offset].contains($0.element) }.map(\.element)
            let records = try door.records(numbers)
            let sequences = Dictionary(records.map { ($0.number, $0.sequence) }) { first, _ in first }
            return (
                numbers.map { Found(number: $0, sequence: sequences[$0] ?? 0) },
                try listing(of: records, door) + (undo ? [] : RecordText.copies(of: records))
            )
        }
        var query = QueryRequest(id: 0)
        query.filter = try selection.filter(try door.open())
        if undo { query.filter.kinds = [.retraction] }
        var (found, first): ([Found], [StoredRecord]) = ([], [])
        try door.records(query) { record in
            if case .retraction(let retraction) = record.record, retraction.author == .source { return }
            found.append(Found(number: record.number, sequence: record.sequence))
            if first.count < Self.shown { first.append(record) }
        }
        let more = found.count - first.count
        return (
            found, try listing(of: first, door) + (more > 0 ? ["and \(NumberText.count(more, "more record"))"] : [])
        )
    }

    /// Lines for the current records; records already retracted are not listed.
    private func listing(of records: [StoredRecord], _ door: DoorClient) throws -> [String] {
        try RecordText.lines(of: records, options.readingUnits(), door)
    }

    private func lines(_ answer: ManualAnswer) -> [String] {
        answer.entries.filter { !$0.isRejected }.map { entry in
            switch (entry.outcome, undo) {
            case ("stored", false): "\(entry.number) \(dryRun ? "would be retracted" : "retracted")"
            case ("stored", true): "\(entry.number) \(dryRun ? "would be back" : "is back")"
            case (_, false): "\(entry.number) was retracted before"
            case (_, true): "\(entry.number) is not retracted"
            }
        }
    }
}
