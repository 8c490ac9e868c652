import ArgumentParser
import HubClient

/// A page of the help: running it prints its own help text.
struct ExitCodesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exit-codes", abstract: "The exit codes of all commands.",
        discussion: """
            \(HubExit.table)

            Each command's help says when it ends with which code.

            Examples:
              hub exit-codes
              hub status >/dev/null; echo $?

            Exit codes: 0.
            """)

    func run() throws { try Output.lines(HubExit.table) }
}
