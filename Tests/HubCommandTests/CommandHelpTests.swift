import ArgumentParser
import Foundation
import HubWire
import Testing

@testable import HubCommand

/// Compares the options of `hub` with the arguments of the hub's commands, which it sends.
@Suite struct CommandHelpTests {
    /// The name of the command of `hub`, if it differs.
    private static let names = ["reload-keys": "keys"]

    /// The options for arguments whose option has another name; a name in `<>` is a value without an option.
    private static let options: [String: [String: String]] = [
        "configure": ["enabled": "--enable", "set": "<key=value>"],
        "edit": ["unit": "<value>", "name": "<value>", "values": "<value>", "start": "--at", "end": "--to"],
        "erase": ["keep": "--keep-copies"],
        "log": [
            "unit": "<value>", "name": "<value>", "values": "<value>", "duration": "<value>", "members": "--with",
            "units": "--with", "start": "--at", "end": "--to",
        ], "replay": ["from": "--since"], "retention": ["trust": "--clock-is-right"], "setup": ["answers": "--answers"],
    ]

    /// The names that an option or a value without an option usually has.
    ///
    /// An instance is `<name>`. An option that may be repeated has the singular.
    private static func usualNames(for argument: SettingDeclaration) -> [String] {
        if argument.name == "instance" { return ["<name>"] }
        var name = argument.name.replacing("_", with: "-")
        if case .list = argument.type, name.hasSuffix("s") { name.removeLast() }
        return ["--\(name)", "<\(name)>"]
    }

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
        "setup": ["action": "for the page: hub setup asks in the terminal", "step": "the same"],
    ]

    @Test func `each argument of a command of the hub has an option, and each dry run has --dry-run`() throws {
        for declaration in OwnCommands.all.map({ $0.declaration }) {
            let name = Self.names[declaration.name] ?? declaration.name
            let command = try #require(
                RootCommand.configuration.subcommands.first { $0.configuration.commandName == name },
                "hub has no command \(name)")
            let help = RootCommand.helpMessage(for: command, includeHidden: true, columns: 200)
            // The examples stand before it.
            let start = try #require(help.range(of: "USAGE:")).lowerBound
            let usage = help[start...]
            let values = usage.matches(of: /(?m)^  (<[a-z=|\-]+>)/).map { String($0.1) }
            let words = Set(usage.matches(of: /--[a-z][a-z\-]*/).map { String($0.0) } + values)
            for argument in declaration.arguments {
                let other = Self.options[declaration.name]?[argument.name]
                let options = other.map { [$0] } ?? Self.usualNames(for: argument)
                let isThere = !words.isDisjoint(with: options)
                let needsNone = Self.without[declaration.name]?[argument.name] != nil
                #expect(isThere != needsNone, "hub \(name): argument \(argument.name), option \(options)")
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
