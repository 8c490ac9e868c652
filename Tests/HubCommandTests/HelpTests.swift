import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubProcess
import HubWire
import Samples
import Testing

@testable import HubCommand

/// Compares all help texts and usage errors as a whole, because people learn the program from them.
@Suite struct HelpTests {
    /// The commands by the words after `hub`, and `hub` for the program itself.
    private static let commands: [(name: String, command: any ParsableCommand.Type)] =
        [("hub", RootCommand.self)] + below(RootCommand.self, "")

    private static func below(
        _ command: any ParsableCommand.Type, _ beginning: String
    ) -> [(name: String, command: any ParsableCommand.Type)] {
        command.configuration.subcommands.flatMap { part in
            let name = beginning + (part.configuration.commandName ?? "\(part)")
            return [(name, part)] + below(part, name + " ")
        }
    }

    @Test(arguments: commands.map(\.name)) func `the help is the one on file`(_ name: String) throws {
        let command = try #require(HelpTests.commands.first { $0.name == name }).command
        let help = RootCommand.helpMessage(for: command, columns: 80) + "\n"
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Help/\(name.replacing(" ", with: "-")).txt")
        let writes = ProcessInfo.processInfo.environment["WRITE_GENERATED"] != nil
        if writes { try Data(help.utf8).write(to: file) }
        #expect(try String(contentsOf: file, encoding: .utf8) == help, "make generated writes it")
    }

    @Test(arguments: commands.map(\.name)) func `each command with --dry-run takes --yes`(_ name: String) throws {
        let command = try #require(HelpTests.commands.first { $0.name == name }).command
        let help = RootCommand.helpMessage(for: command, includeHidden: true, columns: 200)
        #expect(!help.contains("\n  --dry-run") || help.contains("\n  --yes"))
    }

    @Test(arguments: commands.map(\.name)) func `every subcommand has examples and exit codes, in lines that fit`(
        _ name: String
    ) throws {
        let command = try #require(HelpTests.commands.first { $0.name == name }).command
        let discussion = command.configuration.discussion
        // The parent command has those that the subcommands of keys, permissions, ingest and web share.
        let isPart =
            name.hasPrefix("keys ") || name.hasPrefix("permissions ")
            || name.hasPrefix("ingest ") || name.hasPrefix("web ")
        #expect(isPart || discussion.contains("Exit codes:"))
        #expect(isPart || discussion.components(separatedBy: "\n  hub ").count > 2)
        for line in discussion.split(separator: "\n") { #expect(line.count < 80, "\(line)") }
    }

    @Test(arguments: [
        (["samples", "--last", "0"], "Error: --last takes a number from 1 to 1000000."),
        (["samples", "--last", "3", "--order", "time"], "Error: --last has its own order: the newest last."),
        (["samples", "--since", "5"], "Error: --since takes a cursor such as k7qz2m5a-1042, or 0."),
        (
            ["samples", "--since", "0", "--order", "end"],
            "Error: --since comes in the order of the changes, all of it: no --last, --latest or --order."
        ),
        (["samples", "--nobody", "--person", "me"], "Error: --nobody, --guest and --person exclude each other."),
        (["status", "--json", "--env"], "Error: --json and --env exclude each other."),
        (["tap", "--since", "5"], "Error: --since takes a cursor such as k7qz2m5a-1042, or 0."),
        (["tap", "--count", "0"], "Error: --count takes a number from 1."),
        (["retract", "0"], "Error: 0 is not the number of a record."),
        (["export", "a.what"], "Error: The end of a.what names no format; give --format."),
        (["export", "a.gpx", "--type", "weight"], "Error: gpx has routes alone: it goes without types."),
        (["days"], "Error: Say of which types: hub days weight; hub types lists them."),
        (
            ["export", "weight", "--format", "csv"],
            "Error: The file comes first: hub export all.csv weight, or hub export - weight --format csv; a file of that name is ./weight."
        ),
        (["export", "--format", "sqlite"], "Error: sqlite needs a path: a database is a file."),
        (["export", "-"], "Error: Without a path the format is not known; give --format."),
        (["backup", "--keep", "0"], "Error: --keep takes a number from 1 to 10000."),
        (["backup", "--verify"], "Error: --verify needs the backup's path."),
        (["trace", "0"], "Error: 0 is not the number of a record."),
    ]) func `a usage error names the fault and has exit code 64`(_ arguments: [String], _ message: String) throws {
        let error = try #require(throws: (any Error).self) { try RootCommand.parseAsRoot(arguments) }
        #expect(RootCommand.exitCode(for: error).rawValue == HubExit.usage.rawValue)
        #expect(RootCommand.fullMessage(for: error).hasPrefix(message + "\nUsage: hub \(arguments[0]) "))
        let shown = RootCommand.usageMessage(for: error)
        #expect(shown.hasPrefix("hub: ") && shown.contains("See 'hub \(arguments[0]) --help'"), "\(shown)")
        #expect(shown.dropFirst(5).first?.isUppercase == false, "\(shown)")
    }

    @Test func `hub exit-codes prints a line for each code`() async throws {
        let printed = try await ChildProcess(Programs.path("hub"), ["exit-codes"]).result().output
        #expect(printed == HubExit.table + "\n")
    }

    @Test func `an invalid date is refused with the accepted formats`() throws {
        let error = try #require(throws: (any Error).self) {
            try RootCommand.parseAsRoot(["samples", "--from", "monday"])
        }
        #expect(RootCommand.exitCode(for: error).rawValue == HubExit.usage.rawValue)
        #expect(
            RootCommand.fullMessage(for: error).contains(
                "'monday' is none of: a date (2026-03-01, 1.3.2026 or 1.3.), today, yesterday"))
    }

    @Test func `the query has the given filters and one name for each type`() throws {
        let parsed = try RootCommand.parseAsRoot([
            "samples", "bodyMass", "x.acme.thing", "--person", "anna", "--source", "ihealth-hs3", "--last", "3",
            "--from", "2026-03-01T00:00:00Z",
        ])
        let command = try #require(parsed as? SamplesCommand)
        let query = try command.query(
            try TypeArgument.resolved(command.typeNames.all), by: PersonClock(zone: "GMT", now: 0))
        #expect(query.filter.types == ["weight", "x.acme.thing"])
        #expect(query.filter.persons == ["anna"])
        #expect(query.filter.sources == ["ihealth-hs3"])
        #expect(query.filter.from?.text == "2026-03-01T00:00:00Z")
        #expect(query.filter.to == nil)
        #expect(query.selection.standing == RecordKind.samples && query.selection.takenBack.isEmpty)
        #expect(query.order == .newestFirst)
        #expect(query.limit == 3)
    }

    @Test func `an empty span is a usage error`() throws {
        let parsed = try RootCommand.parseAsRoot(["samples", "--from", "2026-03-02", "--to", "2026-03-01"])
        let command = try #require(parsed as? SamplesCommand)
        let failure = try #require(throws: Failure.self) {
            try command.query(try TypeArgument.resolved(command.typeNames.all), by: PersonClock(zone: "GMT", now: 0))
        }
        #expect(failure == Failure(.usage, "--from 2026-03-02 is not before --to 2026-03-01"))
    }
}
