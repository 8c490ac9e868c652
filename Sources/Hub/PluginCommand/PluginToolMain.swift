import ArgumentParser
import HubClient
import HubWire

/// The program `hub-plugin` for plugin authors; `hub plugin` executes it.
@main enum PluginToolMain {
    static func main() async {
        await CommandProgram.main(PluginToolCommand.self) {
            try PluginToolCommand.parseAsRoot()
        } usage: {
            PluginToolCommand.fullMessage(for: $0)
        }
    }
}

struct PluginToolCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub plugin", abstract: "Make plugins, examine them, pass them on, install them.",
        discussion: """
            For authors of plugins:
              hub plugin new NAME        make a folder that runs as it is, in six languages
              hub plugin build DIR       build its program, if that is in Swift
              hub plugin dev DIR         see it work, restarted at each save
              hub plugin test DIR        does it follow Docs/Protocol.md?
              hub plugin rules           list the rules
              hub plugin play            run a hub that misbehaves, for library authors
              hub plugin pack DIR        make one file of it

            For users of plugins:
              hub plugin search          list the plugins of a catalogue
              hub plugin install FILE    see its requests, and install it
              hub plugin enable NAME     write its section of hub.conf
              hub plugin disable NAME    stop running it
              hub plugin remove NAME     remove it

            The plugins of a hub are shown by hub plugins.
            """,
        version: ProductVersion.current,
        subcommands: [
            NewCommand.self, BuildCommand.self, DevCommand.self, TestCommand.self, RulesCommand.self, PlayCommand.self,
            PackCommand.self, SearchCommand.self, InstallCommand.self, EnableCommand.self, DisableCommand.self,
            RemoveCommand.self,
        ])
}
