import ArgumentParser
import Foundation
import HubClient
import HubWire
import PluginKit
import ZeroMQ

struct BridgeSinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sink", abstract: "Deliver records to a program, which reports the outcome of each.",
        usage: "hub bridge sink --name <name> [<type> ...] [<options>] [-- <program> ...]",
        discussion: """
            The hub keeps a list of the records that this sink has. The program reads

              {"delivery":7,"record":{"kind":"quantity","type":"weight",…,"seq":1043}}

            and writes, in any order,

              {"delivery":7,"result":"delivered"}       and "receipt", if it has one
              {"delivery":7,"result":"failed","reason":"…"}   the target never takes it
              {"delivery":7,"result":"later","after":5000}    again after milliseconds
              {"delivery":7,"result":"auth","reason":"…"}     a person must log in

            later without after waits a second, and twice as long each time, up to an
            hour, until a record is delivered.

            Records without an answer when the program or the hub ends are delivered
            again: the same record with the same seq must be harmless. hub status shows
            reason; write no health value into it. The end of the program's output ends
            the sink.

            Examples:
              hub bridge sink --name office weight -- ./deliver
              hub bridge sink --name office --once weight height -- awk -f deliver.awk
              mkfifo back; hub bridge sink --name office weight <back | ./deliver >back

            hub forget-sink deletes this list. Exit codes: 0 the program ended well,
            or Ctrl-C; 1 it failed; 64 no such type; 75 --once: some are left for later;
            77 the hub refuses the name or the subscription.
            """)

    @Option(help: ArgumentHelp("The sink's name, by which the hub remembers it.", valueName: "name")) var name: String?
    @OptionGroup var only: BridgeFilterOptions
    @Option(
        help: ArgumentHelp(
            "The start of a new sink: beginning (if not given), now, or after a cursor.", valueName: "place"))
    var start: String?
    @Option(help: ArgumentHelp("At most n records on their way at a time.", valueName: "n")) var batch = 100
    @Flag(help: "End when nothing is left that could be delivered now.") var once = false
    @OptionGroup var bridge: BridgeOptions
    private var program: [String] { BridgeProgram.words }

    func validate() throws {
        guard (1...1_000).contains(batch) else { throw ValidationError("--batch takes a number from 1 to 1000.") }
        if let start, place(start) == nil {
            throw ValidationError("--start takes beginning, now, or a cursor such as k7qz2m5a-1042.")
        }
    }

    private func place(_ text: String) -> WantRequest.Start? {
        switch Follower.Start(text) {
        case .beginning?: .beginning
        case .now?: .now
        case .after(let cursor)?: .after(cursor)
        case .last?, nil: nil
        }
    }

    func run() async throws {
        guard name != nil || bridge.hasKey else {
            throw Failure(.usage, "--name is missing: the hub remembers a sink by it, such as --name office")
        }
        let signals = StopSignals(watchingInput: false)
        let filter = try only.filter()
        let place = try bridge.place(as: name, usually: "sink")
        let request = WantRequest(
            want: name ?? place.name, types: filter.types, kinds: filter.kinds, persons: filter.persons,
            start: start.flatMap(self.place) ?? .beginning, batch: batch,
            credit: Credit(records: 2 * batch, bytes: 1_048_576))
        let child = program.isEmpty ? nil : try ChildProgram(program, writes: true, reads: true)
        let output = LineWriter(child?.input ?? STDOUT_FILENO)
        let sink = SinkBridge(request, untilCaughtUp: once, LineReader(child?.output ?? STDIN_FILENO), output)
        let context = try Context()
        let exit = await place.runner(once ? .once : .run, context).run(state: nil, requests: signals.requests) {
            try await sink.run($0)
        }
        if child != nil { output.close() }
        let code = await child?.end(within: .seconds(5))
        BridgeExit.leave(context, failure(exit, sink, code, place))
    }

    private func failure(_ exit: PluginExit, _ sink: SinkBridge, _ code: Int32?, _ place: BridgeSession) -> Failure? {
        if let refusal = sink.failure { return Failure(.forbidden, refusal.message) }
        if let code, code != 0 {
            return Failure(
                .unhealthy, "\(program[0]) ended with exit code \(code); records without its answer are delivered again"
            )
        }
        if let fault = sink.readFault { return Failure(.system, "reading the answers failed: \(fault)") }
        if exit == .unfinished, once { return Failure(.tryAgain, "some records are left for later") }
        if let failure = BridgeExit.failure(exit, door: place.address.door) { return failure }
        return sink.faults > 0 ? Failure(.unhealthy, "\(sink.faults) lines were no answers") : nil
    }
}
