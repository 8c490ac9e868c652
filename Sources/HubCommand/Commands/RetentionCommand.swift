import ArgumentParser
import HubClient
import HubCore
import HubWire

struct RetentionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retention",
        abstract: "Thin and remove what hub.conf keeps no longer.",
        discussion: """
            The rules are the tables [retention.NAME] of hub.conf; without one everything
            is kept for ever. The hub follows them by itself, every hour and in small
            steps; this does it at once, or says what it would do. What is thinned becomes
            a value a day, series kept.PLUGIN, with count, min, max, mean, sum, first and
            last. Sinks keep what they have; what one is still to be given waits for it.

            Examples:
              hub retention --dry-run
              hub retention heart --dry-run --json
              hub retention heart

            Exit codes: 0 done; 1 the hub could not; 64 there is no such rule; 69 no hub
            answers.
            """)

    @Argument(help: "Only this rule.")
    var rule: String?
    @Flag(help: "Change nothing; count what would be thinned and removed.")
    var dryRun = false
    @Flag(
        help:
            "One JSON document: {\"rules\":[{\"rule\",\"thinned\",\"removed\",\"left\",\"reason\"?,\"waiting\",\"waitingFor\"}],\"dryRun\"}."
    )
    var json = false
    @OptionGroup var options: ConfigurationOptions

    private struct Arguments: Encodable { var rule: String? }

    private struct Answer: Decodable { var rules: [RetentionReport] }

    func run() throws {
        let door = try DoorClient(
            endpoint: try options.endpoints().door, command: "retention", patience: .seconds(3_600))
        let arguments = RawJSON(trusted: Array(try JSON.line(Arguments(rule: rule)).utf8))
        guard let result = try door.command("retention", arguments: arguments, isDryRun: dryRun) else {
            throw Failure(.dialogue, "the hub did not say what it did")
        }
        if json { return try Output.json(result.text) }
        let rules = try JSON.answer(Answer.self, result).rules
        for rule in rules { try Output.print(RetentionText.line(rule, isDone: !dryRun)) }
        if rules.isEmpty { Terminal.say("hub.conf has no [retention.NAME]: everything is kept") }
    }
}

/// What a rule did in a line.
enum RetentionText {
    static func line(_ report: RetentionReport, isDone: Bool) -> String {
        func part(_ count: Int64, _ one: String, _ verb: String) -> String {
            isDone
                ? "\(NumberText.count(count, one)) \(verb)" : "\(NumberText.count(count, one)) would be \(verb)"
        }
        var line =
            "\(report.rule): \(part(report.thinned, "sample", "thinned")), \(part(report.removed, "record", "removed"))"
        if report.waiting > 0 {
            line +=
                ", \(NumberText.count(report.waiting, "record")) wait for \(report.waitingFor.joined(separator: ", "))"
        }
        if report.left > 0 {
            line +=
                ", \(NumberText.count(report.left, "sample")) cannot be thinned: \(report.reason ?? "the log says why")"
        }
        return line
    }
}
