import ArgumentParser
import HubClient
import HubCore
import HubSettings
import HubWire

struct ApplyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply", abstract: "Have the running hub read and apply hub.conf again.",
        discussion: """
            Only changed plugins restart, also those whose program on the disk is another
            file than the one that runs; the others are not disturbed. A plugin that is no
            longer enabled is asked to finish (STOP) and has five seconds. A file with
            errors changes nothing, and all errors are shown. Changes of data, run, clock,
            log_level, live_per_second, tcp and insecure in [hub] take effect only when
            the hub is started again; the command lists them.

            If a plugin was well and fails within five minutes of the change, it alone
            goes back to its former section, and hub status says so; correct the file and
            apply it again. SIGHUP to the hub does the same as this command.

            Examples:
              hub apply --dry-run                     what would happen
              hub apply
              hub apply --json | jq -r .instances[].action

            Exit codes: 0 the hub follows the file (or would); 65 the file has errors and
            nothing was changed; 69 no hub answers; 75 a change is under way.
            """)

    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "Change nothing; show what would be done.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @Flag(help: "One JSON document: {\"applied\",\"problems\",\"needsRestart\",\"persons\",\"instances\",…}.")
    var json = false

    func run() throws {
        // The hub runs the programs to read their manifests; one that hangs has ten seconds.
        let door = try options.door("apply", patience: .seconds(60))
        let (report, answer) = try door.run(OwnCommands.Apply(), isDryRun: dryRun)
        try Output.print(ApplyText(report).lines, json: json ? answer.text : nil)
        if !report.applied { throw ExitCode(HubExit.badConfiguration.rawValue) }
    }
}

/// `hub apply` for people.
struct ApplyText {
    let report: ApplyReport

    init(_ report: ApplyReport) { self.report = report }

    /// The problems, then the step of each instance that changes, then a summary line.
    var lines: [String] {
        let problems = report.problems.map(\.description) + report.problems.further(report.faults)
        guard report.applied else { return problems + ["\(report.file) has errors; nothing was changed"] }
        let steps = report.instances.filter { $0.action != .leave }.map { step in
            "\(step.action.rawValue) \(step.instance)" + (step.why.map { ": \($0)" } ?? "")
        }
        var others: [String] = []
        if !report.persons.isEmpty { others.append("persons changed: \(report.persons.joined(separator: ", "))") }
        others += report.retention.map { "retention \(RetentionText.plan($0, isDryRun: report.dryRun))" }
        if report.priorities == true {
            others.append("priority changed: sources count in another order in statistics, of the past too")
        }
        if !report.needsRestart.isEmpty {
            let keys = report.needsRestart.joined(separator: ", ")
            others.append("[hub] \(keys): holds when the hub is started again; until then as before")
        }
        let isEmpty = report.instances.isEmpty
        return problems + steps + others + [
            "\(report.file): " + (report.dryRun && !isEmpty ? "would " : "") + report.summary
        ]
    }
}
