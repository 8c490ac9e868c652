import ArgumentParser
import Foundation
import HubClient

/// The program `hub-plugin`, which `hub plugin` becomes: for those who write plugins.
@main
enum Program {
    static func main() async {
        signal(SIGPIPE) { _ in }
        do {
            var command = try PluginCommand.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as Failure {
            Terminal.complain(failure.message)
            exit(failure.exit.rawValue)
        } catch is ReaderGone {
            exit(0)
        } catch  where PluginCommand.exitCode(for: error) == .validationFailure {
            Terminal.explain(PluginCommand.fullMessage(for: error))
            exit(HubExit.usage.rawValue)
        } catch {
            PluginCommand.exit(withError: error)
        }
    }
}

struct PluginCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub plugin",
        abstract:
            "For those who write plugins: make one, see it work while you write it, and examine it beside a hub that misbehaves.",
        discussion: """
            Begin here:
              hub plugin new NAME        a folder that runs as it is, in one of six languages
              hub plugin dev DIR         see it work, and start it again at each save
              hub plugin test DIR        does it keep what Docs/Protocol.md asks of it?
              hub plugin rules           what that is, rule by rule

            The plugins of a hub are shown by hub plugins.
            """,
        subcommands: [NewCommand.self, DevCommand.self, TestCommand.self, RulesCommand.self])
}
