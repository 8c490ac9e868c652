import Foundation
import HubClient
import HubWire
import Logging
import PluginKit
import Synchronization

/// The separate program that reads a file of another format for `hub import` (``ImportDialogue``).
struct ReadingProgram {
    /// The program's answer about the file.
    let finding: ImportDialogue.Finding
    private let process: HelperProcess
    private let messages: AsyncStream<ImportDialogue.Message>

    /// Starts the program, and waits until it has looked at the file.
    init(_ file: String) async throws {
        let name = "hub-apple-health"
        let (messages, tell) = AsyncStream<ImportDialogue.Message>.makeStream()
        let decoder = JSONDecoder()
        process = try HelperProcess(name, [ImportDialogue.verb, Self.path(file)]) { line in
            guard let line else { return tell.finish() }
            guard let message = try? decoder.decode(ImportDialogue.Message.self, from: Data(line.utf8)) else { return }
            tell.yield(message)
        }
        self.messages = messages
        for await message in messages {
            guard let finding = message.finding else { continue }
            self.finding = finding
            return
        }
        throw Failure(.fault, "\(HubProgram.beside(name)) ended before it had looked at \(file)")
    }

    /// The path for another process, in which a path such as `/dev/stdin` names another file.
    private static func path(_ file: String) -> String {
        guard file.hasPrefix("/dev/") || file.hasPrefix("/proc/"), let real = realpath(file, nil) else { return file }
        defer { free(real) }
        return String(cString: real)
    }

    /// Has the file imported.
    ///
    /// SIGTERM and SIGINT end the work early; the records up to there are stored.
    /// - Parameter progressed: gets each progress.
    func run(
        _ job: ImportDialogue.Job, progressed: (ImportDialogue.Progress) -> Void
    ) async throws -> (report: ImportReport?, ending: ImportDialogue.Ending?) {
        let signals = StopSignals(watchingInput: false)
        let isStopped = Mutex(false)
        let stopping = Task {
            for await _ in signals.requests {
                isStopped.withLock { $0 = true }
                process.terminate()
            }
        }
        defer { stopping.cancel() }
        var logger = Logger(label: "hub import") { TerminalLogHandler(label: $0) }
        logger.logLevel = .warning
        process.type(try JSON.line(job))
        var (report, ending): (ImportReport?, ImportDialogue.Ending?) = (nil, nil)
        for await message in messages {
            if let progress = message.progress { progressed(progress) }
            if let log = message.log {
                let facts = Logger.Metadata(uniqueKeysWithValues: log.facts.map { ($0, .string($1)) })
                logger.log(level: Logger.Level(rawValue: log.level) ?? .warning, "\(log.text)", metadata: facts)
            }
            report = message.report ?? report
            ending = message.ending ?? ending
        }
        await end()
        // A program that has only just begun ends at once, without a word.
        if ending == nil, isStopped.withLock({ $0 }) { ending = ImportDialogue.Ending(.stopped) }
        return (report, ending)
    }

    /// Ends the program.
    func end() async { await process.end() }
}
