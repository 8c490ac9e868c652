import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire
import Samples

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Store the records of a file: an export of Apple Health, or records of a hub.",
        discussion: """
            Takes export.zip (or export.xml, or the unpacked folder) as the Health app of
            an iPhone makes it: your picture, Export All Health Data. A newer export adds
            its new records, and takes none back. Of a damaged file all readable records
            are stored. After Ctrl-C, give the file again, and it continues. Look first:
            --dry-run shows types, dates and sources, and how much is new.

            An element that cannot be read is kept as it is written if it has a time. Each
            such element, and each that is lost, is reported with place, date and reason:
            five of a kind, with --json a thousand, and their number.

            Takes JSON Lines as hub export, hub samples --json and the sink json-lines
            write them, or as Docs/Samples.md describes records. Each record is stored as
            its source gave it, under that source's name, for the person that it names.
            Records that the hub has stay as they are: you may give a file again, also one
            that was cut short.

            A record gets a new number. The command reports losses: retracted records,
            which values were corrections by a person, and the other hub's record numbers.
            For a copy with all of that use hub backup and hub restore.

            Examples:
              hub import export.zip --dry-run
              hub import export.zip --from 2024-01-01 --type heartRate --type weight
              hub import all.jsonl --dry-run          its contents, and how much is new
              hub import all.jsonl
              hub import all.jsonl --json | jq 'select(.result=="rejected")'

            If a plugin had declared a type (x.acme.glow), the file does not say how its
            values are added up. Say it: --declare x.acme.glow=cumulative, or one of
            discreteArithmetic, discreteTemporallyWeighted and
            discreteEquivalentContinuousLevel.

            Exit codes: 0 all is stored, or kept as it is written; 1 something was lost,
            damaged or refused, with the reason; 64 it is no such file (another app's is
            named), or it has persons who are not in hub.conf; 69 no hub answers; 75 ended
            before all was given, as when the disk of the hub is full: give it again.
            """)

    @Argument(help: "The file.") var file: String
    @Flag(help: "Store nothing; list the file's contents.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @Option(
        help: ArgumentHelp(
            "How values of a type that a plugin had declared are added up; may be repeated.",
            valueName: "type=aggregation"),
        transform: Self.declaration)
    var declare: [Declaration] = []
    @Flag(help: "The outcome of each record, a JSON object a line; with --dry-run one JSON document.") var json = false
    @OptionGroup var export: FileImportOptions
    @OptionGroup var options: ConfigurationOptions

    struct Declaration: Hashable {
        let type: String
        let aggregation: AggregationStyle
    }

    private static func declaration(_ text: String) throws -> Declaration {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, let aggregation = AggregationStyle(rawValue: parts[1]) else {
            throw ValidationError(
                "'\(text)' is not TYPE=AGGREGATION, the latter one of \(AggregationStyle.allNames)")
        }
        return Declaration(type: parts[0], aggregation: aggregation)
    }

    func run() async throws {
        let endpoint = try options.endpoints().door
        guard MarkedFile.isOne(file) else {
            guard let failure = try importLines(endpoint) else { return }
            throw await foreign() ?? failure
        }
        let program = try await ReadingProgram(file)
        let finding = program.finding
        guard finding.verdict == .readable else {
            throw Failure(finding.verdict == .unreachable ? .system : .usage, finding.reason ?? "\(file): unreadable")
        }
        guard declare.isEmpty else { throw Failure(.usage, "--declare goes only with JSON Lines of a hub") }
        try await FileImport(file: file, options: export, isDryRun: dryRun, json: json, door: endpoint).run(program)
    }

    /// A client of the door stays on one thread, so this function does not wait.
    ///
    /// - Returns: the failure if the file has no line that is a record of a hub; it may be of another app.
    private func importLines(_ endpoint: String) throws -> Failure? {
        guard export.isEmpty else {
            return Failure(
                .usage,
                "\(file) is not an export of Apple Health: leave out the options for one; JSON Lines are read whole")
        }
        let work = try LineImport(
            endpoint: endpoint, aggregations: Dictionary(declare.map { ($0.type, $0.aggregation) }) { $1 })
        let interruption = Interruption()
        let looking = ProgressBar("reading")
        let survey = try work.survey(file, looksUp: dryRun) { done, total in
            if interruption.isOver { throw Failure(.interrupted, "ended before anything was stored") }
            looking.update(done, of: total)
        }
        looking.end()
        guard survey.records + survey.days + survey.retractions > 0 || survey.unreadable == 0 else {
            return Failure(
                .usage,
                "\(file): not one line is a record of a hub (\(survey.firstFault ?? "")); nothing was stored. "
                    + "hub import reads an export of Apple Health, and JSON Lines: of hub export, hub samples --json or "
                    + "the sink json-lines, or written as Docs/Samples.md says, one object a line with source.plugin")
        }
        guard !dryRun else {
            try tell(survey)
            return nil
        }
        try give(work, interruption)
        try tell(work.account)
        return nil
    }

    /// The failure for a file that is of a known format of another app.
    private func foreign() async -> Failure? {
        guard let program = try? await ReadingProgram(file) else { return nil }
        await program.end()
        guard program.finding.isKnownFormat, let reason = program.finding.reason else { return nil }
        return Failure(.usage, "\(reason); nothing was stored")
    }

    private func give(_ work: LineImport, _ interruption: Interruption) throws {
        var output = Output()
        let bar = ProgressBar(file)
        try work.give(file) { outcome in
            if json { try output.json(Array(outcome.json.utf8)[...]) }
        } progress: { done, total in
            if interruption.isOver {
                throw Failure(
                    .tryAgain,
                    "ended after \(NumberText.count(work.account.stored, "new record")); give the file again for the rest"
                )
            }
            bar.update(done, of: total)
        }
        bar.end()
        try output.flush()
    }

    private func tell(_ survey: LineImport.Survey) throws {
        if json { return try Output.json(try JSON.line(survey)) }
        // For a file of one person, use that person's zone.
        let reader = options.readingUnits()[survey.persons.count == 1 ? survey.persons.keys.first : nil]
        func day(_ text: String?) -> String {
            text.flatMap { try? Timestamp(parsing: $0) }.map { reader.local($0).localDate.text } ?? ""
        }
        try Output.print(
            "\(file): \(NumberText.count(survey.records, "record")), \(NumberText.count(survey.days, "day"))"
                + (survey.first.map { ", from \(day($0)) to \(day(survey.last))" } ?? ""))
        if survey.retractions > 0 {
            let count = NumberText.count(survey.retractions, "line")
            try Output.print("\(count) of retractions: earlier lines of the same records are skipped")
        }
        if let known = survey.known { try Output.print("\(NumberText.grouped(known)) of them the hub has") }
        for (plugin, count) in survey.plugins.sorted(by: { $0.key < $1.key }) {
            try Output.print("  of \(plugin): \(NumberText.grouped(count))")
        }
        for (person, count) in survey.persons.sorted(by: { $0.key < $1.key }) {
            try Output.print("  whose: \(person), \(NumberText.grouped(count))")
        }
        Terminal.say("nothing was stored")
    }

    private func tell(_ account: LineImport.Account) throws {
        Terminal.say(
            "\(NumberText.count(account.lines, "line")): \(NumberText.grouped(account.stored)) stored, "
                + "\(NumberText.grouped(account.duplicates)) there already, "
                + "\(NumberText.grouped(account.rejected + account.unreadable)) refused")
        if account.assigned > 0 {
            Terminal.say("\(NumberText.count(account.assigned, "record")) assigned as its line says")
        }
        for (what, count) in account.notes.sorted(by: { $0.key < $1.key }) {
            Terminal.say("\(NumberText.count(count, "line")): \(what)")
        }
        for (reason, refused) in account.reasons.sorted(by: { $0.value.firstLine < $1.value.firstLine }).prefix(20) {
            Terminal.complain(
                "line \(refused.firstLine)\(refused.count > 1 ? " and \(refused.count - 1) more" : ""): \(reason)")
        }
        if account.reasons.count > 20 { Terminal.complain("and \(account.reasons.count - 20) other reasons") }
        guard account.rejected + account.unreadable == 0 else {
            throw Failure(
                .unhealthy,
                "\(NumberText.count(account.rejected + account.unreadable, "line")) of \(file) refused; "
                    + (account.stored + account.duplicates > 0 ? "all else is stored" : "nothing was stored"))
        }
    }
}

extension LineImport.Outcome {
    /// A line of `hub import --json`.
    fileprivate var json: String {
        var text = "{\"line\":\(line)"
        if let key { text += ",\"key\":\(RawJSON.string(key).text)" }
        if let was { text += ",\"was\":\(was)" }
        switch result {
        case .stored(let number, let sequence):
            text += ",\"result\":\"stored\",\"number\":\(number),\"seq\":\(sequence)"
        case .duplicate(let number, let sequence):
            text += ",\"result\":\"duplicate\",\"number\":\(number),\"seq\":\(sequence)"
        case .rejected(let code, let reason):
            text += ",\"result\":\"rejected\",\"code\":\"\(code.rawValue)\",\"reason\":\(RawJSON.string(reason).text)"
        }
        return text + "}"
    }
}
