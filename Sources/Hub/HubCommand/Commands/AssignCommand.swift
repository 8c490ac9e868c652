import ArgumentParser
import HealthText
import HubClient
import HubSettings
import HubWire
import Samples

struct AssignCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assign", abstract: "Assign records to a person or to a guest.",
        discussion: """
            The record gets a new version under that person, which reaches listeners and
            sinks; followers of the former person learn that it left. No source can undo
            this. Records measured together (a weight and its body fat) move together. hub
            inbox shows the records without a person. A guest's reading leaves the inbox
            and counts for no person; hub samples --guest lists them all.

            Examples:
              hub inbox
              hub assign 1043 --to anna
              hub assign 1043 --guest
              hub assign 1043 --undo                  as hub.conf had it
              hub assign 1043 1044 --nobody --reason 'ask ben'
              hub assign --inbox --to anna --dry-run
              hub assign --rules                      after hub.conf has changed

            --inbox and --rules show their effect and ask first. For a number the command
            asks if the odds in hub inbox speak against the person. With --rules each
            waiting record is judged by hub.conf as if it came in now; records that you
            put into the inbox by hand stay there.

            Exit codes: 0 assigned, or it was so already; 1 there is no such record,
            nothing was changed, or the answer was no; 64 no such person, or --yes is
            missing without a terminal; 69 no hub answers.
            """)

    @Argument(help: "Numbers of records.") var number: [Int64] = []
    @Option(help: ArgumentHelp("A person of hub.conf.", valueName: "name")) var to: String?
    @Flag(help: "To no person: into the inbox.") var nobody = false
    @Flag(help: "To a guest: to no person, and out of the inbox.") var guest = false
    @Flag(help: "Undo assignments by hand: assign as the rules of hub.conf did.") var undo = false
    @Flag(help: "All records in the inbox, in place of numbers.") var inbox = false
    @Flag(help: "Assign the records in the inbox by the rules of hub.conf.") var rules = false
    @Flag(help: "Only these records, without those measured together with them.") var alone = false
    @Option(help: ArgumentHelp("The reason, for readers of the record's trace.", valueName: "text")) var reason: String?
    @Flag(help: "Change nothing; show what would be changed.") var dryRun = false
    @Flag(help: "Do not ask.") var yes = false
    @Flag(help: "One JSON document, as the hub gives it; with --inbox one for each 1000 records.") var json = false
    @OptionGroup var options: ConfigurationOptions

    /// Maximum number of records that the hub accepts in one command.
    private static let most = OwnCommands.mostNumbers

    func validate() throws {
        if [!number.isEmpty, inbox, rules].count(where: { $0 }) != 1 {
            throw ValidationError("Give numbers of records, or --inbox, or --rules.")
        }
        let words = [to != nil, nobody, guest, undo].count { $0 }
        if rules, words > 0 || alone || reason != nil { throw ValidationError("--rules stands alone.") }
        if !rules, words != 1 { throw ValidationError("Give one of --to NAME, --guest, --nobody and --undo.") }
        if inbox, nobody || undo {
            throw ValidationError("--inbox takes --to NAME or --guest: records there have no person already.")
        }
        if undo, reason != nil { throw ValidationError("--undo takes no --reason.") }
        if number.count > AssignCommand.most { throw ValidationError("Give at most \(AssignCommand.most) numbers.") }
        if let wrong = number.first(where: { $0 < 1 }) {
            throw ValidationError("\(wrong) is not the number of a record.")
        }
    }

    func run() throws {
        let door = try options.door("assign")
        if rules { return try runRules(door) }
        var numbers = number.enumerated().filter { !number[..<$0.offset].contains($0.element) }.map(\.element)
        // Assign a record only if it is unchanged since the person was asked about it.
        var sequences: [Int64: Int64] = [:]
        if inbox {
            var reader = InboxReader(door, all: true)
            let records = try reader.weighings().flatMap(\.records)
            numbers = records.map(\.number)
            sequences = Dictionary(records.map { ($0.number, $0.sequence) }) { first, _ in first }
            guard !numbers.isEmpty else { return Terminal.say("the inbox is empty") }
        }
        if let to, ["guest", "gast"].contains(to.lowercased()), try door.open().persons.named(to) == nil {
            throw Failure(.usage, "hub.conf has no person \(to); --guest assigns a guest's record")
        }
        let expected = try assign(door, numbers, sequences, isDryRun: true)
        for answer in expected { try answer.refuseRejections() }
        let person = try inbox ? nil : to.map { try door.open().person($0).name }
        let doubts = try person.map { try self.doubts(door, numbers, $0) } ?? []
        if dryRun {
            for doubt in doubts { Terminal.complain(doubt) }
            return try tell(expected)
        }
        if inbox {
            let count = NumberText.count(expected.reduce(0) { $0 + $1.entries.count }, "record")
            let name = to.map { options.readingUnits().name(of: $0) } ?? "a guest"
            try ConsentPrompt.ask("Assign them all to \(name)?", about: ["\(count) in the inbox"], isGiven: yes)
        } else if let person, !doubts.isEmpty {
            let name = options.readingUnits().name(of: person)
            try ConsentPrompt.ask("Assign to \(name) against these odds?", about: doubts, isGiven: yes)
        }
        let done = try assign(door, numbers, sequences, isDryRun: false)
        try tell(done)
        for answer in done { try answer.refuseRejections(isDone: true) }
    }

    /// One line for each record whose weight does not fit the person.
    private func doubts(_ door: DoorClient, _ numbers: [Int64], _ person: String) throws -> [String] {
        var query = QueryRequest(id: 0)
        query.filter.numbers = numbers
        let units = options.readingUnits()
        return try door.records(query).compactMap { record in
            guard case .nobody(let reason) = record.assignment else { return nil }
            return WeightOddsText(reason).doubt(about: person, units.name).map { "\(record.number): \($0)" }
        }
    }

    private func assign(
        _ door: DoorClient, _ numbers: [Int64], _ sequences: [Int64: Int64], isDryRun: Bool
    ) throws -> [ManualAnswer] {
        try stride(from: 0, to: numbers.count, by: AssignCommand.most).map { start in
            let some = Array(numbers[start..<min(start + AssignCommand.most, numbers.count)])
            // For the inbox the numbers contain every group completely.
            var command = OwnCommands.Assign(numbers: some, seqs: inbox ? some.map { sequences[$0] ?? 0 } : nil)
            (command.to, command.nobody, command.guest, command.undo) = (to, nobody, guest, undo)
            (command.alone, command.reason) = (alone || inbox, reason)
            return try door.assign(command, isDryRun: isDryRun)
        }
    }

    private func tell(_ answers: [ManualAnswer]) throws {
        var output = Output()
        let units = options.readingUnits()
        for answer in answers {
            if json {
                try output.json(Array(answer.text.utf8)[...])
                continue
            }
            for entry in answer.entries where !entry.isRejected {
                guard let record = entry.record else {
                    let place =
                        undo
                        ? "as the rules had it"
                        : to.map { "\(units.name(of: $0))'s" } ?? (guest ? "a guest's" : "in the inbox")
                    try output.line("\(entry.number) is \(place) already")
                    continue
                }
                let place = Self.place(record.assignment, units)
                let text = RecordText(record, units)
                let verb = dryRun ? "would be" : "is now"
                try output.line("\(text.number) \(verb) \(place): \(text.type) \(text.value), \(text.time)")
            }
        }
        try output.flush()
    }

    private static func place(_ assignment: Assignment, _ units: ReadingUnits) -> String {
        if let person = assignment.person { return "\(units.name(of: person.name))'s" }
        return assignment.isGuest ? "a guest's" : "in the inbox"
    }

    // MARK: - Rules

    private func runRules(_ door: DoorClient) throws {
        let expected = try runRules(door, isDryRun: true)
        let units = options.readingUnits()
        if expected.report.assigned.isEmpty || dryRun {
            if json { return try Output.json(expected.json.text) }
            let lines = expected.report.lines("would go", units)
            try Output.print(lines.isEmpty ? ["the inbox is empty"] : lines)
            return
        }
        try ConsentPrompt.ask("Assign them so?", about: expected.report.lines("would go", units), isGiven: yes)
        let done = try runRules(door, isDryRun: false)
        try Output.print(done.report.lines("went", units), json: json ? done.json.text : nil)
    }

    private func runRules(
        _ door: DoorClient, isDryRun: Bool
    ) throws -> (report: OwnCommands.Assign.RuleReport, json: RawJSON) {
        let bar = ProgressBar("assign")
        defer { bar.end() }
        let (result, json) = try door.run(OwnCommands.Assign.byRules, isDryRun: isDryRun) { bar.update($0) }
        guard case .other(let report) = result else { throw Failure(unexpected: "assign") }
        return (report, json)
    }
}

extension OwnCommands.Assign.RuleReport {
    fileprivate func lines(_ verb: String, _ units: ReadingUnits) -> [String] {
        let given = assigned.sorted { $0.key < $1.key }.map {
            "\(NumberText.count($0.value, "record")) \(verb) to \(units.name(of: $0.key))"
        }
        let stays = left.sorted { $0.key < $1.key }.map { "\(NumberText.count($0.value, "record")) left: \($0.key)" }
        return given + stays
    }
}

extension DoorClient {
    /// Assigns records, and returns the result for each.
    func assign(_ command: OwnCommands.Assign, isDryRun: Bool) throws -> ManualAnswer {
        guard case .records(let answer) = try run(command, isDryRun: isDryRun).result else {
            throw Failure(unexpected: "assign")
        }
        return answer
    }
}

extension Failure {
    /// The hub's result is that of other arguments.
    init(unexpected command: String) {
        self.init(.dialogue, "the hub's answer to \(command) is of another version than this program")
    }
}
