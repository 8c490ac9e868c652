import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubSettings
import HubWire

struct SetupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup", abstract: "Set the hub up: asks for people, units and plugins, and writes hub.conf.",
        discussion: """
            Each answer is tested at once: names, zones and addresses by the rules of
            hub.conf, settings by the plugin's own program. If you want, a plugin logs in
            or connects for real. A wrong answer is explained, and the question repeated.
            The changes are shown before anything is written. If you run it again, it shows
            the present settings, and changes only those with another answer; comments and
            all other lines stay as they are. The former file is kept beside the new one
            (hub.conf.before), and --undo restores it. Secrets go into separate files, mode
            0600. A hub that runs without a hub.conf asks the same questions in a browser
            (hub web prints a link), and starts with the file that this command writes.

            Scripts answer with --answers FILE and --yes. FILE holds lines for hub.conf:
            [hub], [person.NAME], [plugin.NAME]; a plugin is enabled unless it says
            enabled = false.

            Examples:
              hub setup
              hub setup --dry-run
              hub setup --answers answers.conf --yes
              hub setup --undo

            Exit codes: 0 it is written, or nothing was to change; 1 you said no, or there
            is nothing to undo; 64 wrong arguments or answers, or no terminal to ask at;
            65 hub.conf has errors, or would; 66 it cannot be read; 71 it cannot be
            written; 75 another hub setup is at work, or the file was changed meanwhile;
            130 ended by Ctrl-C. If the code is not 0, nothing was written. After Ctrl-C
            once the file is written, a running hub does not follow yet, and the code is 0.
            """)

    @OptionGroup var options: ConfigurationOptions
    @Option(help: ArgumentHelp("Take the answers from a file; - is stdin.", valueName: "file")) var answers: String?
    @Flag(help: "Write without asking, and have a running hub follow.") var yes = false
    @Flag(help: "Write nothing; show what would be written.") var dryRun = false
    @Flag(help: "Restore the file that the last setup replaced.") var undo = false
    @Flag(help: "One JSON document: {\"file\",\"written\",\"changes\",\"secrets\",\"before\",…}.") var json = false

    func validate() throws {
        if undo, answers != nil { throw ValidationError("--undo and --answers exclude each other.") }
    }

    /// Whether it asks questions.
    private var isAsking: Bool { answers == nil && !yes && !undo }

    func run() async throws {
        if !yes, !dryRun || isAsking, !Terminal.canAsk {
            throw Failure(
                .usage,
                undo
                    ? "there is no terminal to ask at; say --yes, or look first with --dry-run"
                    : "there is no terminal to ask at: run it in one, or give --answers FILE and --yes (see hub setup --help)"
            )
        }
        let file = try SetupFile(named: options.config)
        if undo { return try await takeBack(file) }
        var draft = SetupDraft(path: file.path, old: file.text)
        try Self.checkBase(draft)
        let prompt = isAsking || !yes && !dryRun ? SetupPrompt() : nil
        let given = try answers.map { file throws(Failure) in try SetupAnswers(file) }
        if let given {
            try await given.write(into: &draft)
        } else if let prompt, isAsking {
            var dialogue = SetupDialogue(SetupInterview(draft), prompt)
            try await dialogue.run()
            draft = dialogue.draft
        }
        try await finish(draft, given, file, prompt)
    }

    /// Throws the first error outside the plugin tables: its author must correct it before setup can work with the file.
    private static func checkBase(_ draft: SetupDraft) throws(Failure) {
        let wrong = draft.problems().first { problem in
            problem.severity == .error && problem.table?.hasPrefix("plugin.") != true
        }
        guard let wrong else { return }
        throw Failure(.badConfiguration, "\(wrong.description); correct that first, hub check lists everything")
    }

    private func finish(
        _ draft: SetupDraft, _ answers: SetupAnswers?, _ file: SetupFile, _ prompt: SetupPrompt?
    ) async throws {
        var draft = draft
        let checked = await draft.check()
        for problem in checked.loaded.problems { Terminal.say(answers?.text(of: problem) ?? problem.description) }
        guard !checked.loaded.problems.contains(where: { $0.severity == .error }),
            let configuration = checked.loaded.configuration
        else { throw Failure(.badConfiguration, "\(file.path) would have errors; nothing was written") }

        var report = SetupReport(draft)
        if !json { try Output.print(report.lines) }
        guard draft.text != draft.old else { return try report.tell(json, "it is so already; nothing was changed") }
        if dryRun { return try report.tell(json, "nothing was written") }
        if let prompt, !yes {
            guard try await prompt.isYes("Write \(file.path)?", usually: true) else {
                throw Failure(.unhealthy, "nothing was written")
            }
            try prompt.checkForEnd()
        }
        let isAwaited = draft.isNew && FutureConfiguration.waiting(named: options.config) != nil
        report.before = try file.write(draft)
        report.written = true
        if isAwaited {
            Terminal.say("the hub that waits for it starts with it")
            report.next = report.next(configuration, isRunning: true)
        } else {
            try await follow(&report, configuration, prompt)
        }
        try report.tell(json, nil)
    }

    /// Has a running hub apply the file, or adds the next command to the report.
    private func follow(
        _ report: inout SetupReport, _ configuration: HubConfiguration, _ prompt: SetupPrompt?
    ) async throws {
        let door = OwnerEndpoints(configuration.hub).door
        let isRunning = UnixSocket.presence(door) == .listening
        report.next = report.next(configuration, isRunning: isRunning)
        guard isRunning else { return }
        if let prompt, !yes {
            // The file is already written: Ctrl-C cannot undo that and counts as no.
            let answer = try? await prompt.isYes("A hub runs. Shall it follow the file now?", usually: true)
            if answer == nil { Terminal.say("") }
            guard answer == true else { return report.next.insert(report.typed("hub apply"), at: 0) }
        }
        do {
            let applied = try await blocking {
                try DoorClient(endpoint: door, command: "setup", patience: .seconds(60)).run(OwnCommands.Apply()).result
            }
            report.applied = applied.applied
            if !json { try Output.print(ApplyText(applied).lines) }
        } catch let failure as Failure {
            report.applied = false
            Terminal.say("the file is written, and the hub does not follow it yet: \(failure.message)")
            report.next.insert(report.typed("hub apply"), at: 0)
        }
    }

    private func takeBack(_ file: SetupFile) async throws {
        let former = try file.formerText()
        var draft = SetupDraft(path: file.path, old: file.text, text: former)
        let checked = await draft.check()
        var report = SetupReport(draft)
        if !json { try Output.print(report.lines) }
        Terminal.say("This also undoes changes of hub.conf that you or a command made after the last setup.")
        guard !dryRun else { return try report.tell(json, "nothing was written") }
        let prompt = yes ? nil : SetupPrompt()
        if let prompt {
            guard try await prompt.isYes("Put \(file.former) back?", usually: true) else {
                throw Failure(.unhealthy, "nothing was written")
            }
        }
        try file.swap(with: former)
        (report.written, report.before) = (true, file.former)
        if let configuration = checked.loaded.configuration { try await follow(&report, configuration, prompt) }
        try report.tell(json, nil)
    }
}
