import ArgumentParser

/// `hub plugin`: a separate program beside this one.
struct PluginCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugin",
        abstract: "For those who write plugins: make one, see it work, examine one.",
        discussion: """
            Runs hub-plugin; make build builds it. hub plugin --help lists what it does.
            The plugins of a running hub are shown by hub plugins.

            Examples:
              hub plugin new NAME        a folder with a plugin that runs as it is
              hub plugin dev DIR         see it work, started again at each save
              hub plugin test DIR        does this plugin do what it must?
              hub plugin rules           what that is
              hub plugin pack DIR        one file of it
              hub plugin install FILE    what does it ask for? Then install it
              hub plugin enable NAME     its section of hub.conf

            Exit codes: those of hub-plugin; 71 it is missing.
            """)
}
