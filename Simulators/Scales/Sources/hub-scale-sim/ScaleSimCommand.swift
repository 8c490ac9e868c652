import ArgumentParser
import HubWire

/// Simulated scales; a subcommand per model.
@main
struct ScaleSimCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub-scale-sim",
        abstract: "A bathroom scale that exists only in software, for tests, demonstrations and plugin authors.",
        discussion: """
            It sends the same bytes as a real scale, with invented weights, and it can
            be made to fail in every way a real one can.
            Pick a model: 'hub-scale-sim help hs3' tells the rest.
            """,
        version: ProductVersion.current,
        subcommands: [
            SimulateHS3Command.self, SimulateHS4Command.self, SimulateHS5Command.self, SimulateReplayCommand.self,
        ])
}
