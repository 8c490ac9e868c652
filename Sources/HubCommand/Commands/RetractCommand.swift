import ArgumentParser
import HubClient
import HubWire
import Samples

struct RetractCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retract",
        abstract: "Take records back: the dog stood on the scale.",
        discussion: """
            A retracted record is in no list any more, listeners and sinks are told, and
            no source can bring it back. hub trace still knows it, and --undo brings it
            back. Shows what it is about and asks before it does it.

            Examples:
              hub samples weight --last 5             NUMBER is the last column
              hub retract 1043
              hub retract 1043 1044 --reason 'the dog' --yes
              hub retract 1043 --dry-run --json
              hub retract 1043 --undo

            Exit codes: 0 retracted or brought back, now or before; 1 there is no such
            record, nothing was changed, or the answer was no; 64 --yes is missing
            without a terminal; 69 no hub answers.
            """)

    @Argument(help: "Numbers of records.")
    var number: [Int64]
    @Option(help: ArgumentHelp("Why, for those who read the retraction.", valueName: "text"))
    var reason: String?
    @Flag(help: "Bring back what was retracted by hand.")
    var undo = false
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
        if undo, reason != nil { throw ValidationError("--undo takes no --reason.") }
        if let wrong = number.first(where: { $0 < 1 }) {
            throw ValidationError("\(wrong) is not the number of a record.")
        }
    }

    func run() throws {
        let door = try DoorClient(endpoint: try options.endpoints().door, command: "retract")
        let numbers = number.enumerated().filter { !number[..<$0.offset].contains($0.element) }.map(\.element)
        let arguments = Arguments(numbers: numbers, reason: reason, undo: undo)
        let expected = try door.hand("retract", arguments, isDryRun: true)
        try expected.refuseRejections()
        if dryRun {
            if json { return try Output.json(expected.text) }
            for line in try listing(door, numbers) + lines(expected) { try Output.print(line) }
            return
        }
        if !undo {
            let question = "Retract \(numbers.count == 1 ? "this record" : "these \(numbers.count) records")?"
            try Consent.ask(question, about: yes ? [] : try listing(door, numbers), isGiven: yes)
        }
        let done = try door.hand("retract", arguments, isDryRun: false)
        if json {
            try Output.json(done.text)
        } else {
            for line in lines(done) { try Output.print(line) }
        }
        try done.refuseRejections(isDone: true)
    }

    private struct Arguments: Encodable {
        var numbers: [Int64]
        var reason: String?
        var undo: Bool
    }

    /// The records as they are now; those that were retracted before are in no list.
    private func listing(_ door: DoorClient, _ numbers: [Int64]) throws -> [String] {
        let records = try door.records(numbers)
        let units = options.readingUnits()
        var table = RecordText.table()
        for record in records { table.add(RecordText(record, units).cells) }
        return records.isEmpty ? [] : table.takeLines()
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
