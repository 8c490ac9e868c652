import ArgumentParser

/// The flag `--yes` for a command that never asks: scripts may pass it to every command that changes something.
struct PluginAssumeYesOption: ParsableArguments {
    @Flag(
        help: ArgumentHelp(
            "Taken as by every command that changes something; this one does not ask.", visibility: .hidden))
    var yes = false
}
