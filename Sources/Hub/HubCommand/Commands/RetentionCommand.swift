import HealthText
import ArgumentParser
import HubClient
import HubSettings
import HubWire
import Samples

struct RetentionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retention", abstract: "Thin and remove records by the rules of hub.conf.",
        discussion: """
            The rules are the tables [retention.NAME] of hub.conf; without one everything
            is kept for ever. The hub applies them every hour, in small steps; this command
            applies them at once, or shows the effect. Thinning replaces the samples of a
            day by one value in the series kept.PLUGIN, with count, min, max, mean, sum,
            the values of the earliest and latest sample (first, last) and when those began
            (firstStart, lastStart). Sinks keep their records; records not yet delivered to
            a sink stay until they are. Thinned or removed records come back only from a
            backup: the command shows how many they are and asks first.

            While the clock is more than a day ahead of the time that the hub last trusted,
            nothing is thinned or removed. Set the clock, or confirm it: --clock-is-right.

            Examples:
              hub retention --dry-run
              hub retention heart --dry-run --json
              hub retention heart
              hub retention --clock-is-right          after the hub was off for days

            Exit codes: 0 done; 1 the hub failed, or the answer was no; 64 there is no
            such rule, or --yes is missing without a terminal; 69 no hub answers.
            """)

    @Argument(help: "Only this rule.") var rule: String?
    @Flag(help: "Change nothing; count what would be thinned and removed.") var dryRun = false
    @Flag(help: "Do not ask.") var yes = false
    @Flag(help: "The hub's clock is right, although it is far ahead of when it was last trusted.")
    var clockIsRight = false
    @Flag(
        help:
            "One JSON document: {\"rules\":[{\"rule\",\"thinned\",\"removed\",\"left\",\"reason\"?,\"waiting\",\"waitingFor\"}],\"dryRun\"}."
    )
    var json = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if dryRun, clockIsRight { throw ValidationError("--clock-is-right cannot be combined with --dry-run.") }
    }

    func run() throws {
        let door = try options.door("retention", patience: .seconds(3_600))
        func ask(isDryRun: Bool) throws -> (text: String, rules: [RetentionReport]) {
            let command = OwnCommands.Retention(rule: rule, trust: clockIsRight && !isDryRun)
            let (result, json) = try door.run(command, isDryRun: isDryRun)
            return (json.text, result.rules)
        }
        if !dryRun, !yes {
            let plan = try ask(isDryRun: true).rules
            if plan.contains(where: { $0.thinned + $0.removed > 0 }) {
                let listing = plan.map { RetentionText.line($0, isDone: false) }
                try ConsentPrompt.ask("Do it now, for good?", about: listing, isGiven: false)
            }
        }
        let (text, rules) = try ask(isDryRun: dryRun)
        if json { return try Output.json(text) }
        for rule in rules { try Output.print(RetentionText.line(rule, isDone: !dryRun)) }
        if rules.isEmpty { Terminal.say("hub.conf has no [retention.NAME]: everything is kept") }
    }
}

/// A line on the effect of a rule, past, planned or in general.
enum RetentionText {
    /// The line of `hub apply` for a rule that is new or changed.
    static func plan(_ report: RetentionReport, isDryRun: Bool) -> String {
        guard report.thinned + report.removed > 0 else { return "\(report.rule): nothing is that old yet" }
        return "\(line(report, isDone: false)), for good: the hub does it within an hour"
            + (isDryRun ? " of hub apply" : "; without the rule and after another hub apply it does not")
    }

    /// The line of `hub check` for a rule.
    static func rule(_ rule: RetentionSection) -> String {
        func after(_ days: Int) -> String { "\(NumberText.count(days, "day")) after it ended" }
        let what = rule.types.map(\.rawValue).joined(separator: ", ")
        let sources = rule.sources.map { " of \($0.sorted().joined(separator: ", "))" } ?? ""
        let deeds = [
            rule.thinAfterDays.map { "becomes a value a day \(after($0))" },
            rule.removeAfterDays.map { "is removed \(after($0))" },
        ]
        return "\(rule.name): \(what)\(sources) \(deeds.compactMap(\.self).joined(separator: ", and ")), for good"
    }

    static func line(_ report: RetentionReport, isDone: Bool) -> String {
        func part(_ count: Int64, _ one: String, _ verb: String) -> String {
            isDone ? "\(NumberText.count(count, one)) \(verb)" : "\(NumberText.count(count, one)) would be \(verb)"
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
