package import ArgumentParser
import Foundation

/// A program of commands: every failure becomes one line on stderr and one of the documented exit codes.
package enum CommandProgram {
    /// - Parameters:
    ///   - parse: returns the command that the arguments name.
    ///   - usage: the text for wrong arguments.
    package static func main<Root: ParsableCommand>(
        _ root: Root.Type, parse: @Sendable () throws -> any ParsableCommand, usage: @Sendable (any Error) -> String
    ) async {
        // A reader that stops early (`| head -1`) causes an error of write(2), which ends the command normally.
        signal(SIGPIPE) { _ in }
        do {
            var command = try parse()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            Terminal.complain(failure.message)
            exit(failure.exit.rawValue)
        } catch is OutputClosed {
            exit(0)
        } catch  where root.exitCode(for: error) == .failure && !(error is ExitCode) {
            Terminal.complain("an error of hub itself, please report it: \(error)")
            exit(HubExit.fault.rawValue)
        } catch  where root.exitCode(for: error) == .validationFailure {
            Terminal.explain(usage(error))
            exit(HubExit.usage.rawValue)
        } catch { root.exit(withError: error) }
    }
}

/// The flag `--yes` for a command that never asks: scripts may pass it to every command that changes something.
package struct AssumeYesOption: ParsableArguments {
    @Flag(
        help: ArgumentHelp(
            "Taken as by every command that changes something; this one does not ask.", visibility: .hidden))
    package var yes = false

    package init() {}
}
