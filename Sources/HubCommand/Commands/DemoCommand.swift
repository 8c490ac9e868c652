import ArgumentParser
import Foundation
import HubClient

/// `hub demo`: a program of its own, beside this one.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "A month of three people and three scales, here in this terminal.",
        discussion: """
            Runs hub-demo, the demonstration; make demo builds it with what it needs.
            hub demo --help lists its options.

            Examples:
              hub demo                       a month in about two minutes
              hub demo --days 10 --for 20    less of it

            Exit codes: those of hub-demo; 71 it is missing.
            """)

    /// Makes this process the demonstration; the program's start calls it, before options are read.
    ///
    /// - Parameter options: as they were written, `--help` included.
    static func become(_ options: ArraySlice<String>) throws(Failure) -> Never {
        let program = HubProgram.beside("hub-demo")
        // By the name that was typed, from which it tells people what to type.
        let typed = CommandLine.arguments[0]
        let name = typed.lastIndex(of: "/").map { typed[...$0] + "hub-demo" } ?? "hub-demo"
        var words = ([name] + options).map { strdup($0) } + [nil]
        execv(program, &words)
        throw Failure(
            .system,
            "\(program): the demonstration cannot be started (\(String(cString: strerror(errno)))); make demo builds it"
        )
    }
}
