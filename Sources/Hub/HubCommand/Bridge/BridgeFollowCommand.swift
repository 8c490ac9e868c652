import ArgumentParser
import Foundation
import HubClient
import PluginKit
import ZeroMQ

struct BridgeFollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow", abstract: "Print each version of each record as a line, once, as it is stored.",
        usage: "hub bridge follow [<type> ...] [<options>] [-- <program> ...]",
        discussion: """
            A line has the record as the hub has it, and its place:

              {"cursor":"k7qz2m5a-1043","record":{"kind":"quantity","type":"weight",…}}

            A retraction is a record of kind retraction: drop the record of its number.
            Lines come in the order in which the hub stored the records, each once, even
            if the hub is restarted or killed. If its store was restored from a backup,
            the line {"restored":"abcdefgh-0"} says: forget all records, they come again.

            --since last continues where the last run with the same name ended. A file
            keeps that place; it is written after the lines were handed over. A program
            that is killed in between gets some lines again. To get each line once, keep
            the cursor of the last line with your results, and begin with --since CURSOR.
            A program after -- gets the lines on its stdin.

            Examples:
              hub bridge follow weight
              hub bridge follow weight --since last --as my-script | while read -r l; do …
              hub bridge follow stepCount --since last -- ./program
              hub bridge follow weight --since beginning --count 10

            Exit codes: 0 after --count, Ctrl-C, or when the reader has gone; 1 the
            program failed; 64 no such type or cursor; 71 the state file cannot be used;
            77 the hub refuses the name.
            """)

    @OptionGroup var only: BridgeFilterOptions
    @Option(
        help: ArgumentHelp(
            "Where to begin: last, now (if not given), beginning, or after the cursor of a line.", valueName: "place"))
    var since: String?
    @Option(
        help: ArgumentHelp(
            "The file that keeps the place; ~/.local/state/health-hub/bridge/NAME if not given.", valueName: "file"))
    var state: String?
    @Option(help: ArgumentHelp("End after n records.", valueName: "n")) var count: Int?
    @Option(
        name: .customLong("as"),
        help: ArgumentHelp("The name of this follower; follow if not given.", valueName: "name"))
    var name: String?
    @OptionGroup var bridge: BridgeOptions
    private var program: [String] { BridgeProgram.words }

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a number from 1.") }
        if let since, Follower.Start(since) == nil {
            throw ValidationError("--since takes last, now, beginning, or a cursor such as k7qz2m5a-1042.")
        }
    }

    func run() async throws {
        let signals = StopSignals(watchingInput: false)
        let filter = try only.filter()
        let place = try bridge.place(as: name, usually: "follow")
        let start = since.flatMap(Follower.Start.init) ?? .now
        let isKept = state != nil || start == .last
        let file = isKept ? try FollowCursorFile(state ?? Self.usualFile(place.name), filter) : nil
        let child = program.isEmpty ? nil : try ChildProgram(program, writes: true, reads: false)
        let output = LineWriter(child?.input ?? STDOUT_FILENO)
        let follower = Follower(filter, from: start, file, output, count: count)
        let context = try Context()
        let exit = await place.runner(.once, context).run(
            state: nil, requests: BridgeExit.requests(signals, child, readerOf: output)
        ) { try await follower.run($0) }
        if child != nil { output.close() }
        let code = await child?.end(within: .seconds(5))
        var failure = follower.failure ?? BridgeExit.failure(exit, door: place.address.door)
        if failure == nil, let code, code != 0 {
            failure = Failure(.unhealthy, "\(program[0]) ended with exit code \(code)")
        }
        BridgeExit.leave(context, failure)
    }

    private static func usualFile(_ name: String) -> String {
        let environment = ProcessInfo.processInfo.environment
        let base = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (base ?? NSHomeDirectory() + "/.local/state") + "/health-hub/bridge/\(name)"
    }
}
