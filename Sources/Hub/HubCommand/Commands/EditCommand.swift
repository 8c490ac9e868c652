import ArgumentParser
import HealthText
import HubClient
import HubWire
import Samples

struct EditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit", abstract: "Correct a sample: its value, its time, or a note to it.",
        discussion: """
            The corrected sample is shown everywhere, whatever its source sends later;
            listeners and sinks get it as a new version. The source's version is kept: hub
            trace shows it, and --undo brings back the newest that the source sent. A day
            value cannot be edited: edit the samples it is made from.

            Examples:
              hub samples weight --last 5             NUMBER is the last column
              hub edit 1043 80.2kg
              hub edit 1043 --at 'yesterday 7:30' --reason 'the clock was wrong'
              hub edit 1043 --note 'with shoes'
              hub edit 1050 118/79                    a blood pressure, its two members
              hub edit 1043 --undo

            If you change the time of a meal, a blood pressure or a workout, its members
            move with it; --undo moves them back.

            Values and times are typed as for hub log, times by the person's zone; a day
            needs its time.

            Exit codes: 0 edited, or already so; 1 there is no such sample, nothing
            was changed, or the answer was no; 64 what was typed is not a value or time, or
            --yes is missing without a terminal; 69 no hub answers.
            """)

    @Argument(help: "The number of a record.") var number: Int64
    @Argument(help: "The right value, with its unit.") var value: [String] = []
    @Option(
        name: [.customLong("at"), .customLong("from")],
        help: ArgumentHelp("The right time; of an interval, its beginning.", valueName: "when"),
        transform: LogCommand.moment)
    var at: MomentArgument?
    @Option(help: ArgumentHelp("The right end of an interval.", valueName: "when"), transform: LogCommand.moment)
    var to: MomentArgument?
    @Option(help: ArgumentHelp("A remark, kept with the record.", valueName: "text")) var note: String?
    @Option(help: ArgumentHelp("The reason, for readers of the record's trace.", valueName: "text")) var reason: String?
    @Flag(help: "Undo all edits of the record.") var undo = false
    @Flag(help: "Change nothing; show what would be changed.") var dryRun = false
    @Flag(help: "Do not ask about unlikely values.") var yes = false
    @Flag(help: "One JSON document: {\"records\":[{\"number\",\"outcome\",\"record\",…}]}.") var json = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if number < 1 { throw ValidationError("\(number) is not the number of a record.") }
        let isEmpty = value.isEmpty && at == nil && to == nil && note == nil
        if undo, !isEmpty || reason != nil { throw ValidationError("--undo stands alone.") }
        if !undo, isEmpty { throw ValidationError("Give the correct value, --at, --to or --note; or --undo.") }
    }

    func run() throws {
        let door = try options.door("edit")
        let welcome = try door.open()
        let before = try door.records([number]).first
        if before == nil, !undo {
            throw Failure(
                .unhealthy, "there is no record \(number), or it was taken back: hub trace \(number) shows which")
        }
        let arguments = try arguments(before, welcome)
        let expected = try door.hand(OwnCommands.Edit.self, arguments, isDryRun: true)
        try expected.refuseRejections()
        if !undo {
            let doubts = expected.entries.flatMap { entry in
                entry.record.map {
                    TypoCheck.about(
                        $0, last: entry.number == number ? before : nil, now: welcome.time.microseconds,
                        for: options.readingUnits()[$0.assignment.person?.name])
                } ?? []
            }
            for doubt in doubts { Terminal.complain(doubt) }
            if !doubts.isEmpty, !dryRun { try ConsentPrompt.ask("Is that right?", about: [], isGiven: yes) }
        }
        let answer = dryRun ? expected : try door.hand(OwnCommands.Edit.self, arguments, isDryRun: false)
        try answer.refuseRejections()
        if json { return try Output.json(answer.text) }
        try tell(answer, before)
    }

    private func arguments(_ before: StoredRecord?, _ welcome: Welcome) throws(Failure) -> [String: SettingValue] {
        var arguments: [String: SettingValue] = ["number": .integer(number), "undo": .boolean(undo)]
        // Change the record only if it is unchanged since the person was asked about it.
        arguments["seq"] = before.map { .integer($0.sequence) }
        (arguments["note"], arguments["reason"]) = (note.map(SettingValue.string), reason.map(SettingValue.string))
        // Without a sample, the hub reports why it cannot be edited.
        guard let before, case .sample(let sample) = before.record else { return arguments }
        if !value.isEmpty {
            if sample.type == .workout, MomentArgument.span(value.joined(separator: " ")) != nil {
                throw Failure(
                    .usage,
                    "how long a workout lasted follows from its times; hub edit \(number) --to WHEN moves its end, --at WHEN its beginning"
                )
            }
            let words = try PercentPrompt.answered(value, of: TypeRegistry.standard.type(sample.type))
            let typed = try Failure.entryValue { () throws(EntryError) in
                try ValueArgument(
                    words, of: TypeRegistry.standard.type(sample.type),
                    for: options.readingUnits()[before.assignment.person?.name])
            }
            typed.add(to: &arguments)
        }
        let clock = try welcome.clock(of: [before.assignment.person?.name ?? Topic.nobody])
        for (name, argument) in [("start", at), ("end", to)] {
            arguments[name] = try argument.map { argument throws(Failure) in
                SettingValue.string(sample.there(try clock.moment(argument, takesDay: false).time).text)
            }
        }
        return arguments
    }

    private func tell(_ answer: ManualAnswer, _ before: StoredRecord?) throws {
        let changed = answer.entries.filter { $0.record != nil }
        guard !changed.isEmpty else {
            return try Output.print(undo ? "\(number) was not edited" : "\(number) is so already")
        }
        for entry in changed {
            guard let after = entry.record else { continue }
            try tell(after, before.flatMap { $0.number == entry.number ? $0 : nil })
        }
        if !undo, !dryRun { Terminal.say("hub edit \(number) --undo restores its source's version") }
    }

    /// - Parameter before: the same record before the edit; it is not known for a member of a group.
    private func tell(_ after: StoredRecord, _ before: StoredRecord?) throws {
        let units = options.readingUnits()
        let old = before.map { RecordText($0, units) }
        let new = RecordText(after, units)
        var changes: [String] = []
        let values = before.map { ValueText.change(from: $0, to: after, units) } ?? ("", new.value)
        if values.0 != values.1 { changes.append(before == nil ? values.1 : "\(values.0) → \(values.1)") }
        if old?.time != new.time { changes.append(before == nil ? new.time : "\(old?.time ?? "") → \(new.time)") }
        if let note, !undo, after.number == number { changes.append("note: \(note)") }
        let verb =
            dryRun ? "would be \(undo ? "as its source says" : "edited")" : undo ? "is as its source says" : "edited"
        try Output.print("\(after.number) \(verb)" + (changes.isEmpty ? "" : ": \(changes.joined(separator: ", "))"))
    }
}
