import ArgumentParser
import Foundation
import HubClient
import HubWire
import Logging
import PluginKit
import ZeroMQ

struct BridgePluginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugin", abstract: "Make a program that reads and writes lines a plugin of the hub.",
        usage: "hub bridge plugin --manifest <file> <verb> [--results] -- <program> ...",
        discussion: """
            A plugin is then a folder with three files: manifest.json (Docs/Protocol.md,
            13.3), the program, and the executable that hub.conf names:

              #!/bin/sh
              here=${0%/*}
              exec hub bridge plugin --manifest "$here/manifest.json" "$@" \\
                -- /bin/sh "$here/program.sh"

            The hub calls it with --describe, --check-settings or --run. With --run the
            program's first line on stdin has its settings:

              {"instance":"kitchen","settings":{"file":"/…"},"persons":[…],…}

            It writes records, a line each; they are on disk once they are read. It reads
            {"command":1,"name":"refresh","args":{}} and answers with
            {"command":1,"outcome":"done"}. If the manifest has sink, it reads deliveries,
            as with hub bridge sink. After {"stop":true} or the end of stdin it has three
            seconds to end. Its stderr is its log. The hub confines it to the files that
            its settings name and to HUB_STATE. Docs/Clients.md has all lines.

            Examples:
              hub bridge plugin --manifest manifest.json --describe -- ./program.sh
              hub logs kitchen

            Exit codes: that of the program; 64 wrong arguments; 70 the manifest is wrong.
            """)

    @Option(help: ArgumentHelp("The plugin's manifest.", valueName: "file")) var manifest: String
    @Flag(exclusivity: .exclusive, help: "The hub's request.") var verb: Verb
    @Flag(help: "Tell the program the outcome of each record; it must then read its stdin.") var results = false

    enum Verb: String, EnumerableFlag {
        case describe, checkSettings, run

        static func help(for verb: Verb) -> ArgumentHelp? {
            switch verb {
            case .describe: "Print the manifest."
            case .checkSettings: "Start the program with --check-settings, which it has to know."
            case .run: "Work until stopped."
            }
        }
    }

    func run() async throws {
        let description: PluginDescription
        do { description = try PluginDescription(path: manifest) } catch { Self.leave(error.exit, error.message) }
        let words = BridgeProgram.words
        guard !words.isEmpty else {
            Self.leave(.usage, "the program is missing: hub bridge plugin --manifest FILE --run -- PROGRAM")
        }
        switch verb {
        case .describe: try Output.json(description.json)
        case .checkSettings: Self.become(words + ["--check-settings"])
        case .run: try await work(description, words)
        }
    }

    private func work(_ description: PluginDescription, _ words: [String]) async throws {
        let launch: Launch
        let state: PluginState
        do {
            guard let found = try Launch.read() else {
                Self.leave(
                    .usage,
                    "no hub has started this: name the script in hub.conf as the executable of a [plugin.NAME]; "
                        + "by hand use hub bridge publish or hub bridge sink")
            }
            launch = found
            state = try PluginState(directory: launch.stateDirectory)
        } catch let failure as PluginFailure {
            Self.leave(failure.exit, failure.message)
        } catch {
            Self.leave(.state, "\(error)")
        }
        LoggingSystem.bootstrap { PlainLogHandler(label: $0) }
        let logger = Logger(label: launch.instance)
        let (manifest, context) = (description.manifest, try Context())
        let bridge = try PluginBridge(description, words, state, reportsResults: results, logger)
        var runner = SessionRunner(
            hello: Hello(
                protocols: manifest.protocols, instance: launch.instance, plugin: manifest.name,
                version: manifest.version, mode: .run, reads: manifest.reads, writes: manifest.writes,
                declares: manifest.declares), address: launch.address, logger: logger, context: context)
        runner.report = bridge.report
        let signals = StopSignals(watchingInput: true)
        let exit = await runner.run(state: state, requests: signals.requests) { try await bridge.run($0) }
        bridge.cutOff()
        try? state.close()
        context.finish(within: .milliseconds(500))
        fflush(nil)
        _exit(bridge.code.flatMap { $0 == 0 ? nil : $0 } ?? exit.rawValue)
    }

    private static func leave(_ exit: PluginExit, _ reason: String) -> Never {
        Terminal.complain(reason)
        Foundation.exit(exit.rawValue)
    }

    private static func become(_ words: [String]) -> Never {
        var arguments = words.map { strdup($0) } + [nil]
        execvp(words[0], &arguments)
        leave(.failed, "\(words[0]): the program cannot be started: \(String(cString: strerror(errno)))")
    }
}
