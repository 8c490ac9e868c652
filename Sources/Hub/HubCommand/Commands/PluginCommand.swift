import ArgumentParser

/// `hub plugin`: a separate program beside this one.
struct PluginCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugin", abstract: "For plugin authors: make a plugin, see it work, examine it.",
        discussion: """
            Runs hub-plugin; make build builds it. hub plugin --help lists what it does.
            The plugins of a running hub are shown by hub plugins.

            Examples:
              hub plugin new NAME        a folder with a plugin that runs as it is
              hub plugin dev DIR         see it work, started again at each save
              hub plugin test DIR        does this plugin follow the rules?
              hub plugin rules           list the rules
              hub plugin pack DIR        make one file of it
              hub plugin install FILE    show its requests, then install it
              hub plugin enable NAME     its section of hub.conf

            Exit codes: those of hub-plugin; 71 it is missing.
            """)
}
