import AppleExport
import Foundation
import HealthText
import HubClient
import HubWire
import Logging
import PluginKit
import Synchronization
import ZeroMQ

/// `hub import` for an export of Apple Health.
struct AppleExportRun {
    let file: String
    let options: AppleExportOptions
    let isDryRun: Bool
    let json: Bool
    let door: String

    func run() async throws {
        let signals = StopSignals(watchingInput: false)
        let owner = try DoorClient(endpoint: door, command: "import")
        let welcome = try owner.open()
        let person = try person(welcome)
        let clock = try Failure.ofHand { () throws(HandFault) in
            try PersonClock(zone: options.zone ?? person?.zone, now: welcome.time.microseconds)
        }
        var exportOptions = ExportOptions(
            account: try options.account ?? account(of: person, owner), person: options.person, zone: options.zone,
            dayZone: clock.zone.identifier)
        exportOptions.filter = try options.filter(by: clock)
        var work = ExportImport(file, options: exportOptions, scratch: NSTemporaryDirectory())
        work.isDryRun = isDryRun
        let bar = Mutex(ProgressBox(ProgressBar(isDryRun ? "looking" : "importing")))
        work.tell = { progress in
            bar.withLock { box in
                box.bar.update(
                    CommandProgress(
                        id: 0, done: progress.position, total: progress.size,
                        text: "\(NumberText.count(progress.records, "record"))\(progress.estimate)"))
            }
        }
        let outcome = Mutex<Result<ImportReport, any Error>?>(nil)
        let context = try Context()
        let job = work
        let exit = await runner(context).run(state: nil, requests: signals.requests) { link in
            do {
                let report = try await job.run(link)
                outcome.withLock { $0 = .success(report) }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
        }
        bar.withLock { $0.bar.end() }
        BridgeEnd.leave(context, try end(exit, outcome.withLock { $0 }, clock))
    }

    /// The person of the export.
    private func person(_ welcome: Welcome) throws -> Welcome.PersonEntry? {
        if let name = options.person { return try welcome.person(name) }
        return try welcome.persons.isEmpty ? nil : welcome.onlyPerson()
    }

    /// The account of earlier records from this person's exports, else the person's name.
    private func account(of person: Welcome.PersonEntry?, _ owner: DoorClient) throws -> String? {
        guard let person else { return nil }
        var filter = QueryRequest.Filter()
        (filter.persons, filter.sources) = ([person.name], [ExportImport.kind])
        var reader = RecordReader()
        var found: String??
        do {
            try owner.pages(QueryRequest(id: 0, filter: filter, limit: 1)) { records, _ in
                for json in records {
                    if case .sample(let sample) = try reader.record(json).record {
                        found = .some(sample.source.account)
                    }
                }
            }
        } catch let failure as Failure where failure.member == "QUERY.persons" {
            // The hub has no record of this person yet.
        }
        return found ?? person.name
    }

    private func runner(_ context: Context) -> SessionRunner {
        var logger = Logger(label: "hub import") { ReadableLog(label: $0) }
        logger.logLevel = .warning
        var runner = SessionRunner(
            hello: Hello(
                instance: LineImport.instance, plugin: ExportImport.kind, version: HubProgram.version, mode: .once,
                declares: ExportImport.declarations),
            address: HubAddress(door: door), logger: logger, context: context)
        runner.policy.outlivesHub = true
        runner.role = "import"
        runner.stopLimit = .seconds(10)
        runner.drainLimit = .seconds(2)
        return runner
    }

    // MARK: - End

    private func end(
        _ exit: PluginExit, _ outcome: Result<ImportReport, any Error>?, _ clock: PersonClock
    ) throws -> Failure? {
        switch outcome {
        case .success(let report):
            try tell(report, clock)
            if !report.finished {
                return Failure(
                    .tryAgain,
                    "ended before the end of the file; the records up to here are stored: import it again for the rest")
            }
            if report.refused > 0 {
                return Failure(
                    .notWell,
                    "\(NumberText.count(report.refused, "record")) refused; "
                        + ((report.new ?? 0) + (report.changed ?? 0) + (report.known ?? 0) > 0
                            ? "all else is stored" : "nothing was stored"))
            }
            guard report.complete, report.fault == nil else {
                return Failure(
                    .notWell,
                    "\(file): \(report.fault ?? "it is cut off before its end"); "
                        + (isDryRun ? "its readable records would be stored" : "its readable records are stored"))
            }
            guard report.lost == 0 else {
                return Failure(
                    .notWell,
                    "\(NumberText.count(report.lost, "thing")) of \(file) \(report.lost == 1 ? "is" : "are") lost (see above); "
                        + (isDryRun ? "all else would be stored" : "all else is stored"))
            }
            return nil
        case .failure(let error as ExportError):
            return Failure(error.code == .io ? .system : .usage, error.message)
        case .failure(let error as GiveError) where error.code == .stopping:
            return Failure(.tryAgain, "ended before the end of the file; give it again for the rest")
        case .failure(let halt as ExportImport.StoreHalt): return StoreFault.failure(halt.reason)
        case .failure(let error): return Failure(.fault, "\(file): \(error)")
        case nil:
            return BridgeEnd.failure(exit, door: door)
                ?? Failure(.tryAgain, "ended before anything was given; give the file again")
        }
    }

    private func tell(_ report: ImportReport, _ clock: PersonClock) throws {
        guard !json else {
            try Output.json(try JSON.line(report))
            return
        }
        for line in AppleImportText(zone: clock.zone).lines(report) { try Output.print(line) }
    }
}

/// A progress bar that several tasks may move, one at a time.
private struct ProgressBox: ~Copyable {
    let bar: ProgressBar
    init(_ bar: ProgressBar) { self.bar = bar }
}
