import ArgumentParser
import Foundation
import HealthText
import HubClient
import PluginKit
import ZeroMQ

struct BridgePublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish", abstract: "Give the hub a record per line of stdin; print the outcome of each.",
        usage: "hub bridge publish [<options>] [-- <program> ...]",
        discussion: """
            A line is a record (Docs/Samples.md), or a list of records:

              {"type":"weight","value":72.3,"unit":"kg",
               "start":"2026-03-15T07:30:05+01:00","key":"2026-03-15T06:30:05Z"}

            all on one line, as jq -c prints it. key identifies the record at its source:
            the same record again is a duplicate, and stored once. To take a record back,
            give {"kind":"retraction","key":"…"}. Records of one group are stored together:
            give them on successive lines, or as one list. If the stream goes on, end its
            last group with an empty line. {"live":{…}} and {"event":{…}} are passed on,
            but not stored.

            Each record has an answer on stdout, once it is on the hub's disk:

              {"line":1,"key":"…","result":"stored","number":1043,"seq":1043}

            result is stored, duplicate, rejected (with code and reason) or error (with
            reason: the line is not a record). Other lines go on. The hub may be
            restarted, killed and restored meanwhile: no record is lost or duplicated.
            While it is away, lines wait on stdin; with --spool they are read and kept on
            disk. A refused record stays there until its answer is written: if this
            process is killed before, the next start writes the answer, with the record.
            With a program after --, its output is read instead of stdin.

            Examples:
              hub bridge publish < records.jsonl
              curl -s https://scale.local/log | jq -c '.[]|{type:"weight",value:.kg,
                unit:"kg",start:.at,key:.at}' | hub bridge publish --as kitchen
              hub bridge publish --spool ~/.local/state/kitchen -- ./read-scale

            Exit codes: 0 all is stored; 1 something was refused, or the program failed;
            64 wrong arguments; 71 the spool cannot be used; 75 ended before all was
            answered: give it again, or with --spool start again; 77 the hub refuses the
            name.
            """)

    @Option(
        name: .customLong("as"), help: ArgumentHelp("The source of the records.", valueName: "name"))
    var name: String?
    @Option(help: ArgumentHelp("Keep records that are not stored yet in this folder.", valueName: "folder"))
    var spool: String?
    @Flag(help: "The records are history: store and deliver them, but do not publish each one.") var backfill = false
    @OptionGroup var bridge: BridgeOptions
    private var program: [String] { BridgeProgram.words }

    func validate() throws {
        if backfill, spool != nil { throw ValidationError("--backfill and --spool exclude each other.") }
    }

    func run() async throws {
        let signals = StopSignals(watchingInput: false)
        let place = try bridge.place(as: name, usually: "bridge")
        let spool = try openSpool()
        let child = program.isEmpty ? nil : try ChildProgram(program, writes: false, reads: true)
        let publisher = try BridgePublisher(
            LineReader(child?.output ?? STDIN_FILENO), LineWriter(STDOUT_FILENO), spool: spool, isBackfill: backfill)
        do { try await publisher.reportRefused() } catch is OutputClosed {
            throw Failure(.tryAgain, "the answers have no reader")
        } catch let error as PluginStateError { throw Failure(.system, "--spool \(self.spool ?? ""): \(error)") }
        let context = try Context()
        var runner = place.runner(.once, context)
        runner.report = publisher.report
        let exit = await runner.run(state: spool, requests: signals.requests) { try await publisher.run($0) }
        let code = await child?.end(within: publisher.account.isAtEnd ? .seconds(10) : .zero)
        // A rejected record that cannot be removed now is reported again later.
        try? await publisher.forgetRefused()
        let pending = try? await spool?.counters().pending
        let failure = failure(exit, publisher.account, code, pending, place)
        try? spool?.close()
        BridgeExit.leave(context, failure)
    }

    private func openSpool() throws -> PluginState? {
        guard let spool else { return nil }
        do { return try PluginState(directory: spool) } catch { throw Failure(.system, "--spool \(spool): \(error)") }
    }

    /// The failure to report to the person at the end.
    private func failure(
        _ exit: PluginExit, _ account: BridgePublisher.Account, _ code: Int32?, _ pending: Int64?,
        _ place: BridgeSession
    ) -> Failure? {
        if exit == .refused, let failure = BridgeExit.failure(exit, door: place.address.door) { return failure }
        if let fault = account.readFault {
            return Failure(
                .system, "reading the lines failed: \(fault); line \(account.lastLine) is the last that was read")
        }
        if let spool, let pending, pending > 0 {
            return Failure(
                .tryAgain,
                "\(NumberText.count(Int(pending), "record")) not stored yet, and kept in \(spool): "
                    + "hub bridge publish --spool \(spool) < /dev/null gives them when the hub is there")
        }
        if account.hasLostReader {
            return Failure(
                .tryAgain, "the reader of the answers is gone; records were given up to line \(account.lastLine)")
        }
        if account.unanswered > 0 {
            return Failure(
                .tryAgain,
                "ended before the hub had answered; give the lines without an answer again, up to line "
                    + "\(account.lastLine): the hub reports records that it has as duplicates")
        }
        if let failure = BridgeExit.failure(exit, door: place.address.door) { return failure }
        if !account.isAtEnd {
            return Failure(
                .tryAgain,
                "ended before the end of the lines; the lines up to \(account.lastLine) are answered, give the others again"
            )
        }
        if account.refused > 0 {
            return Failure(.unhealthy, "\(account.refused) of \(account.answered) refused; the answer of each says why")
        }
        if let code, code != 0 { return Failure(.unhealthy, "\(program[0]) ended with exit code \(code)") }
        return nil
    }
}
