import ArgumentParser
import Foundation
import HubClient

/// `hub demo`: a separate program beside this one.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "A month of three people and three scales, here in this terminal.",
        discussion: """
            Runs hub-demo, the demonstration; make demo builds it with what it needs.
            hub demo --help lists its options.

            Examples:
              hub demo                       a month in about two minutes
              hub demo --days 10 --for 20    less of it

            Exit codes: those of hub-demo; 71 it is missing.
            """)
}
