import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubCore
import HubWire
import Samples

struct EraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase", abstract: "Erase records from every file of the hub, permanently.",
        discussion: """
            If you give the number of a meal, a blood pressure or a workout, all its
            members are erased, too.

            hub retract hides a record and keeps it; hub erase leaves no byte of it:
            values, all versions, keys, notes, reasons, raw payloads. It cannot be undone.
            Listeners and sinks get a retraction. A source that sends the same record
            again is answered as if it were stored, unless you say --allow. Days made from
            it lose their values, and are made again from the other records. Older copies
            of the store beside it are removed as a whole, with records that only they
            have, such as those from before hub restore; --keep-copies leaves them. The
            command shows the records and asks before it erases them.

            Not erased: backups (the command names those that the hub knows), records that
            a plugin has not given to the hub yet, copies that sinks' targets keep, values
            of these records that retention has kept in days (series kept.PLUGIN; --source
            erases those days too), snapshots of the file system, and blocks that an SSD
            keeps.

            Examples:
              hub erase 1043 1044
              hub erase --person anna --type heartRate --to 2026-01-01 --dry-run
              hub erase --source ihealth-hs3 --from 30d --yes
              hub erase --forget carl                 all of a person, and the name
              hub erase --allow 1043                  its source may send it again

            --from and --to as in hub samples.

            Exit codes: 0 erased; 1 there is no such record, one could not be erased, or
            the answer was no; 64 no such type or person, or --yes is missing without a
            terminal; 69 no hub answers.
            """)

    @Argument(help: "Numbers of records, in place of the filter.") var number: [Int64] = []
    @OptionGroup var selection: RecordSelectionOptions
    @Option(help: ArgumentHelp("All of a person that hub.conf no longer names, and the name.", valueName: "name"))
    var forget: String?
    @Flag(name: .customLong("keep-copies"), help: "Leave older copies of the store beside it.") var keep = false
    @Flag(help: "Erase nothing: let sources send the records of these numbers again.") var allow = false
    @Flag(help: "Change nothing; show what would be erased.") var dryRun = false
    @Flag(help: "Do not ask.") var yes = false
    @Flag(
        help:
            "One JSON document: {\"records\",\"versions\",\"bytes\",\"sinks\",\"copies\",\"left\",\"backups\",\"unseen\",\"unknown\",\"failed\",\"faults\",\"named\",\"waitingFor\",\"dryRun\"}."
    )
    var json = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        let ways = [!number.isEmpty, !selection.isEmpty, forget != nil].count { $0 }
        if ways == 0 { throw ValidationError("Give numbers, a filter or --forget: nothing is erased without.") }
        if ways > 1 { throw ValidationError("Numbers, a filter and --forget exclude each other.") }
        if allow, number.isEmpty || dryRun || keep { throw ValidationError("--allow takes numbers alone.") }
        if let wrong = number.first(where: { $0 < 1 }) {
            throw ValidationError("\(wrong) is not the number of a record.")
        }
    }

    func run() throws {
        _ = try TypeArgument.resolved(selection.types)
        let door = try options.door("erase")
        let filter = try selection.filter(try door.open())
        let command = OwnCommands.Erase(
            numbers: number.isEmpty ? nil : number, filter, forget: forget, keep: keep, allow: allow)
        if allow { return try acceptAgain(door, command) }
        let (plan, expected) = try ask(door, command, isDryRun: true)
        if dryRun {
            if json { return try Output.json(expected.text) }
            try Output.print(try listing(plan, filter, door) + lines(plan))
            return
        }
        if let unknown = plan.unknown.first {
            throw Failure(
                .unhealthy, "no record has the number \(unknown), or it was erased before; nothing was changed")
        }
        guard plan.records > 0 || forget != nil else { throw Failure(.unhealthy, "there is no such record") }
        try ConsentPrompt.ask(
            "Erase \(plan.records == 1 ? "this record" : "these \(NumberText.count(plan.records, "record"))") for good?",
            about: yes ? [] : try listing(plan, filter, door) + lines(plan), isGiven: yes)
        let (answer, done) = try ask(door, command, isDryRun: false)
        if json {
            try Output.json(done.text)
        } else {
            try Output.print(Self.done(answer, keep))
            Terminal.say(Self.missing)
        }
        var complaints: [String] = []
        if let failed = answer.failed {
            let first = answer.faults?.first.map { "; record \($0.number): \($0.reason)" } ?? ""
            complaints.append(
                "\(NumberText.count(failed, "record")) could not be erased, now or before, and are tried again every hour; hub status says when that is done\(first)"
            )
        }
        if let left = answer.left, !left.isEmpty {
            let files = left.map { "\($0.path) (\($0.reason))" }.joined(separator: ", ")
            complaints.append(
                "could not remove \(files): erased records may still be in there; make sure that they are removed")
        }
        if !complaints.isEmpty { throw Failure(.unhealthy, complaints.joined(separator: "\n")) }
    }

    static let missing =
        "not erased: what plugins have not given yet, copies that sinks' targets keep, days of retention (series kept.PLUGIN; --source takes them too), backups, snapshots of the file system, blocks that an SSD keeps; see Docs/Security.md"

    private func ask(
        _ door: DoorClient, _ command: OwnCommands.Erase, isDryRun: Bool
    ) throws -> (report: OwnCommands.Erase.Report, json: RawJSON) {
        let (result, json) = try door.run(command, isDryRun: isDryRun) { step in
            guard Terminal.showsProgress || Terminal.canAsk else { return }
            let total = step.total.map { " of \(NumberText.grouped($0))" } ?? ""
            Terminal.progress("\(step.text ?? "") \(NumberText.grouped(step.done))\(total)")
        }
        if Terminal.canAsk { Terminal.progress("") }
        guard case .other(let report) = result else { throw Failure(unexpected: "erase") }
        return (report, json)
    }

    private func acceptAgain(_ door: DoorClient, _ command: OwnCommands.Erase) throws {
        guard case .records(let answer) = try door.run(command).result else { throw Failure(unexpected: "erase") }
        if json { try Output.json(answer.text) }
        for entry in answer.entries where !json && !entry.isRejected {
            try Output.print("\(entry.number) may be sent again")
        }
        try answer.refuseRejections(isDone: true)
    }

    /// Maximum number of records shown to the person.
    private static let shown: Int64 = 20

    /// Lists the records to erase; only the count includes records already retracted and members that are erased with them.
    private func listing(_ plan: OwnCommands.Erase.Report, _ filter: QueryRequest.Filter, _ door: DoorClient) throws
        -> [String]
    {
        guard forget == nil else { return [] }
        var query = QueryRequest(id: 0, filter: filter, limit: Self.shown)
        if !number.isEmpty { query.filter.numbers = Array(number.prefix(Int(Self.shown))) }
        query.filter.kinds = RecordKind.allCases.filter { $0 != .retraction }
        query.marksMirrors = !number.isEmpty
        var reader = RecordReader()
        guard case .records(let page, _, _) = try door.ask(query).content else { return [] }
        let records = try page.map { try reader.record($0) }
        let more = plan.records - Int64(records.count)
        return try RecordText.lines(of: records, options.readingUnits(), door)
            + (records.isEmpty || more < 1 ? [] : ["and \(NumberText.count(more, "more record"))"])
            + RecordText.copies(of: records)
    }

    /// The records to be erased, and those that stay elsewhere.
    private func lines(_ plan: OwnCommands.Erase.Report) -> [String] {
        var lines = [
            "\(NumberText.count(plan.records, "record")) in \(NumberText.count(plan.versions, "version")), about \(NumberText.bytes(plan.bytes)); this cannot be undone"
        ]
        if let forget { lines.append("the name \(forget)") }
        lines += plan.sinks.map {
            "\($0.sink) may have \(NumberText.grouped($0.records)) of them, and will be notified"
        }
        lines += plan.copies.map { path in
            keep
                ? "\(path) stays, and may have them"
                : "\(path) goes too, as a whole: records that only this older store has are lost (--keep-copies leaves it)"
        }
        lines += Self.backups(plan)
        lines += plan.unknown.map { "no record has the number \($0)" }
        return lines
    }

    static func backups(_ answer: OwnCommands.Erase.Report) -> [String] {
        let unseen = Set(answer.unseen ?? [])
        return answer.backups.map { path in
            unseen.contains(path)
                ? "\(path) is a backup that may have them, and stays if it is still there: its disk did not answer"
                : "\(path) is a backup that may have them, and stays"
        }
    }

    private static func done(_ answer: OwnCommands.Erase.Report, _ keepsCopies: Bool) -> [String] {
        var lines = ["erased \(NumberText.count(answer.records, "record"))"]
        if !keepsCopies { lines += answer.copies.map { "removed \($0)" } }
        lines += backups(answer)
        if let named = answer.named, named > 0 {
            let sinks = answer.waitingFor ?? []
            let keys = "the keys of \(NumberText.count(named, "record"))"
            // There are no sinks to wait for between the sink's answer and the next check of the waiting keys.
            lines.append(
                sinks.isEmpty
                    ? "\(keys) are being removed; hub status says when that is done"
                    : "\(keys) stay until \(sinks.joined(separator: " and ")) \(sinks.count == 1 ? "has" : "have") been notified; hub status says when"
            )
        }
        return lines
    }
}
