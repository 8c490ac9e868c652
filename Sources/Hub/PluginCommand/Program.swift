import ArgumentParser
import Foundation
import HubClient

/// The program `hub-plugin` for plugin authors; `hub plugin` executes it.
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
        abstract: "Make plugins, examine them, pass them on, install them.",
        discussion: """
            For those who write one:
              hub plugin new NAME        a folder that runs as it is, in six languages
              hub plugin build DIR       its program, where the language needs that: Swift
              hub plugin dev DIR         see it work, and start it again at each save
              hub plugin test DIR        does it keep what Docs/Protocol.md asks of it?
              hub plugin rules           what that is, rule by rule
              hub plugin play            a hub that misbehaves, for authors of libraries
              hub plugin pack DIR        one file of it

            For those who use one:
              hub plugin search          what a catalogue has
              hub plugin install FILE    see what it asks for, and install it
              hub plugin enable NAME     its section of hub.conf
              hub plugin disable NAME    it shall not run
              hub plugin remove NAME     take it away

            The plugins of a hub are shown by hub plugins.
            """,
        subcommands: [
            NewCommand.self, BuildCommand.self, DevCommand.self, TestCommand.self, RulesCommand.self,
            PlayCommand.self, PackCommand.self, SearchCommand.self, InstallCommand.self, EnableCommand.self,
            DisableCommand.self,
            RemoveCommand.self,
        ])
}
