import AppleExport
import Foundation
import HubWire
import Logging
import PluginKit
import Samples
import Synchronization
import ZeroMQ

/// `hub-apple-health import FILE`: reads one export for `hub import`, which has started this program and shows its messages.
struct ExportFileImport {
    private let words: [String]

    /// - Parameter words: the arguments after the verb.
    init(_ words: [String]) { self.words = words }

    /// Answers whether the file is an export, waits for the job, carries it out, and ends the process.
    func run() async -> Never {
        guard words.count == 1, isatty(STDIN_FILENO) == 0 else {
            FileHandle.standardError.write(
                Data("hub-apple-health import is started by hub import; use that: hub import export.zip\n".utf8))
            exit(PluginExit.usage.rawValue)
        }
        let file = words[0]
        let finding = ExportFileImport.finding(file)
        Line.say { $0.finding = finding }
        guard finding.verdict == .readable, let line = readLine(),
            let job = try? JSONDecoder().decode(ImportDialogue.Job.self, from: Data(line.utf8))
        else { exit(PluginExit.done.rawValue) }
        await carryOut(job, file)
    }

    private static func finding(_ file: String) -> ImportDialogue.Finding {
        do throws(ExportError) {
            _ = try ExportPackage(file)
            return ImportDialogue.Finding(.readable, kind: ExportImport.kind)
        } catch {
            return ImportDialogue.Finding(
                error.code == .io ? .unreachable : .foreign, reason: error.message,
                isKnownFormat: ExportPackage.foreign(file) != nil)
        }
    }

    private func carryOut(_ job: ImportDialogue.Job, _ file: String) async -> Never {
        let signals = StopSignals(watchingInput: true)
        var work = ExportImport(file, options: ExportOptions(job), scratch: NSTemporaryDirectory())
        work.isDryRun = job.isDryRun
        work.tell = { progress in Line.say { $0.progress = progress } }
        let outcome = Mutex<Result<ImportReport, any Error>?>(nil)
        let ending: ImportDialogue.Ending
        do {
            let context = try Context()
            let reading = work
            let exit = await ExportFileImport.runner(job, context).run(state: nil, requests: signals.requests) { link in
                let result = await Result { try await reading.run(link) }
                outcome.withLock { $0 = result }
            }
            ending = ExportFileImport.ending(outcome.withLock { $0 }, exit)
            // Let the last messages be sent.
            context.finish(within: .milliseconds(500))
        } catch {
            ending = ImportDialogue.Ending(.failed, "\(error)")
        }
        Line.say { $0.ending = ending }
        // A thread may still be waiting for the end of stdin.
        _exit(PluginExit.done.rawValue)
    }

    private static func runner(_ job: ImportDialogue.Job, _ context: Context) -> SessionRunner {
        var logger = Logger(label: job.instance) { _ in DialogueLog() }
        logger.logLevel = .warning
        var runner = SessionRunner(
            hello: Hello(
                instance: job.instance, plugin: ExportImport.kind, version: job.version, mode: .once,
                declares: ExportImport.declarations),
            address: HubAddress(door: job.door), logger: logger, context: context)
        runner.policy.outlivesHub = true
        runner.role = "import"
        runner.stopLimit = .seconds(10)
        runner.drainLimit = .seconds(2)
        return runner
    }

    /// Sends the report, and returns how the work ended.
    private static func ending(_ outcome: Result<ImportReport, any Error>?, _ exit: PluginExit) -> ImportDialogue.Ending
    {
        switch outcome {
        case .success(let report):
            Line.say { $0.report = report }
            return ImportDialogue.Ending(.done)
        case .failure(let error as ExportError):
            return ImportDialogue.Ending(error.code == .io ? .unreachable : .unreadable, error.message)
        case .failure(let error as GiveError) where error.code == .stopping: return ImportDialogue.Ending(.stopped)
        case .failure(let halt as ExportImport.StoreUnavailable): return ImportDialogue.Ending(.store, halt.reason)
        case .failure(let error): return ImportDialogue.Ending(.failed, "\(error)")
        case nil: return ImportDialogue.Ending(.session, exit: exit.rawValue)
        }
    }
}

extension ExportOptions {
    fileprivate init(_ job: ImportDialogue.Job) {
        self.init(
            account: job.account, person: job.person, zone: job.zone, dayZone: job.dayZone,
            filter: ExportFilter(
                types: job.types.map { Set($0.compactMap { try? TypeID($0) }) }, sources: job.sources.map(Set.init),
                from: job.from, to: job.to))
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// Writes messages to stdout, each on its line.
private enum Line {
    private static let output = Mutex(())

    static func say(_ fill: (inout ImportDialogue.Message) -> Void) {
        var message = ImportDialogue.Message()
        fill(&message)
        guard let line = try? JSONEncoder().encode(message) else { return }
        // If hub import is gone, stdin ends as well, and that stops the work.
        output.withLock { _ in try? FileHandle.standardOutput.write(contentsOf: line + [UInt8(ascii: "\n")]) }
    }
}

/// Sends the log to `hub import`, which knows whether a progress bar is on the screen.
private struct DialogueLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .warning

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let facts = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
        Line.say {
            $0.log = ImportDialogue.Log(
                level: event.level.rawValue, text: event.message.description, facts: facts)
        }
    }
}
