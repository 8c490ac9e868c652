import ArgumentParser
import Foundation
import HubWire
import Testing

@testable import HubCommand

/// Compares the options of `hub` with the arguments of the hub's commands, which it sends.
@Suite struct CommandHelpTests {
    /// The name of the command of `hub`, if it differs.
    private static let names = ["reload-keys": "keys"]

    /// The options for arguments that do not have the argument's name; a name in `<>` is a value without an option.
    private static let options: [String: [String: String]] = [
        "assign": ["numbers": "<number>"],
        "configure": ["instance": "<name>", "enabled": "--enable", "set": "<key=value>"],
        "edit": [
            "number": "<number>", "value": "<value>", "unit": "<value>", "name": "<value>", "values": "<value>",
            "start": "--at", "end": "--to",
        ],
        "erase": [
            "numbers": "<number>", "types": "--type", "persons": "--person", "sources": "--source",
            "keep": "--keep-copies",
        ], "forget-sink": ["sink": "<sink>"],
        "log": [
            "type": "<type>", "value": "<value>", "unit": "<value>", "name": "<value>", "values": "<value>",
            "duration": "<value>", "members": "--with", "units": "--with", "start": "--at", "end": "--to",
        ], "logout": ["instance": "<name>"], "release": ["instance": "<name>"], "restart": ["instance": "<name>"],
        "replay": ["from": "--since", "types": "--type"], "retention": ["rule": "<rule>", "trust": "--clock-is-right"],
        "retract": ["numbers": "<number>"],
    ]

    /// Arguments without an option, each with the reason.
    private static let without: [String: [String: String]] = [
        "assign": [
            "seqs": "hub assign gives the versions that it has read", "of": "for programs that serve one person",
        ], "configure": ["revision": "hub configure asks nothing between reading and writing"],
        "edit": [
            "seq": "hub edit gives the version that it has read", "seqs": "the same",
            "of": "for programs that serve one person",
        ], "log": ["zone": "hub log gives the person's zone", "of": "for programs that serve one person"],
        "retract": [
            "seqs": "hub retract gives the versions that it has read", "of": "for programs that serve one person",
        ],
    ]

    @Test func `each argument of a command of the hub has an option, and each dry run has --dry-run`() throws {
        for declaration in OwnCommands.all.map({ $0.declaration }) {
            let name = Self.names[declaration.name] ?? declaration.name
            let command = try #require(
                RootCommand.configuration.subcommands.first { $0.configuration.commandName == name },
                "hub has no command \(name)")
            let help = RootCommand.helpMessage(for: command, includeHidden: true, columns: 200)
            // The examples stand before it.
            let usage = try #require(help.range(of: "USAGE:")).lowerBound
            let words = Set(help[usage...].matches(of: /--[a-z][a-z\-]*|<[a-z=|\-]+>/).map { String($0.0) })
            for argument in declaration.arguments.map(\.name) {
                let option = Self.options[declaration.name]?[argument] ?? "--\(argument.replacing("_", with: "-"))"
                let isThere = words.contains(option)
                let needsNone = Self.without[declaration.name]?[argument] != nil
                #expect(isThere != needsNone, "hub \(name): argument \(argument), option \(option)")
            }
            // A hub that stops needs no rehearsal.
            #expect(words.contains("--dry-run") == (declaration.canDryRun && name != "stop"), "hub \(name)")
        }
        let known = Dictionary(uniqueKeysWithValues: OwnCommands.all.map { ($0.name, $0.declaration.arguments) })
        for (name, arguments) in Self.options.merging(Self.without, uniquingKeysWith: { $0.merging($1) { $1 } }) {
            let declared = Set(known[name]?.map(\.name) ?? [])
            #expect(declared.isSuperset(of: arguments.keys), "\(name) has not all of these arguments any more")
        }
    }
}
