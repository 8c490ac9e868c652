import Foundation
import HealthText
import HubClient
import HubWire
import PluginKit
import Samples

/// `hub import` for a file that another program reads, such as an export of Apple Health.
struct FileImport {
    let file: String
    let options: FileImportOptions
    let isDryRun: Bool
    let json: Bool
    let door: String

    /// - Parameter program: has looked at the file, and can read it.
    func run(_ program: ReadingProgram) async throws {
        let (job, clock) = try job(program.finding.kind)
        let bar = ProgressBar(isDryRun ? "looking" : "importing")
        let (report, ending) = try await program.run(job) { progress in
            bar.update(
                CommandProgress(
                    id: 0, done: progress.done, total: progress.total,
                    text: "\(NumberText.count(progress.records, "record"))\(progress.estimate)"))
        }
        bar.end()
        if let report { try tell(report, clock) }
        if let failure = failure(report, ending) { throw failure }
    }

    /// The work, by the hub's persons; a client of the door stays on one thread, so this function does not wait.
    private func job(_ kind: String?) throws -> (ImportDialogue.Job, PersonClock) {
        let owner = try DoorClient(endpoint: door, command: "import")
        let welcome = try owner.open()
        let person = try person(welcome)
        let clock = try Failure.entryValue { () throws(EntryError) in
            try PersonClock(zone: options.zone ?? person?.zone, now: welcome.time.microseconds)
        }
        let account = try options.account ?? account(of: person, kind, owner)
        return (try options.job(at: door, isDryRun: isDryRun, account: account, by: clock), clock)
    }

    /// The person of the file.
    private func person(_ welcome: Welcome) throws -> Welcome.PersonEntry? {
        if let name = options.person { return try welcome.person(name) }
        return try welcome.persons.isEmpty ? nil : welcome.onlyPerson()
    }

    /// The account of earlier records from this person's files of this kind, else the person's name.
    private func account(of person: Welcome.PersonEntry?, _ kind: String?, _ owner: DoorClient) throws -> String? {
        guard let person, let kind else { return nil }
        var filter = QueryRequest.Filter()
        (filter.persons, filter.sources) = ([person.name], [kind])
        var found: String??
        do {
            try owner.records(QueryRequest(id: 0, filter: filter, limit: 1)) { stored in
                if case .sample(let sample) = stored.record { found = .some(sample.source.account) }
            }
        } catch let failure as Failure where failure.member == "QUERY.persons" {
            // The hub has no record of this person yet.
        }
        return found ?? person.name
    }

    // MARK: - End

    private func tell(_ report: ImportReport, _ clock: PersonClock) throws {
        guard !json else { return try Output.json(try JSON.line(report)) }
        try Output.print(ImportReportText(zone: clock.zone).lines(report))
    }

    private func failure(_ report: ImportReport?, _ ending: ImportDialogue.Ending?) -> Failure? {
        guard let ending else {
            return Failure(.fault, "\(file): the program that reads it has ended; the line before may say why")
        }
        switch ending.reason {
        case .done:
            guard let report else {
                return Failure(.fault, "\(file): the program that reads it gave no result; import it again to see more")
            }
            return failure(report)
        case .unreadable: return Failure(.usage, ending.text)
        case .unreachable: return Failure(.system, ending.text)
        case .stopped: return Failure(.tryAgain, "ended before the end of the file; give it again for the rest")
        case .store: return StoreFault.failure(ending.text)
        case .session:
            return BridgeExit.failure(ending.exit.flatMap(PluginExit.init) ?? .failed, door: door)
                ?? Failure(.tryAgain, "ended before anything was given; give the file again")
        case .failed: return Failure(.fault, "\(file): \(ending.text)")
        }
    }

    private func failure(_ report: ImportReport) -> Failure? {
        if !report.finished {
            return Failure(
                .tryAgain,
                "ended before the end of the file; the records up to here are stored: import it again for the rest")
        }
        if report.refused > 0 {
            return Failure(
                .unhealthy,
                "\(NumberText.count(report.refused, "record")) refused; "
                    + ((report.new ?? 0) + (report.changed ?? 0) + (report.known ?? 0) > 0
                        ? "all else is stored" : "nothing was stored"))
        }
        guard report.complete, report.fault == nil else {
            return Failure(
                .unhealthy,
                "\(file): \(report.fault ?? "it is cut off before its end"); "
                    + (isDryRun ? "its readable records would be stored" : "its readable records are stored"))
        }
        guard report.lost == 0 else {
            return Failure(
                .unhealthy,
                "\(NumberText.count(report.lost, "thing")) of \(file) \(report.lost == 1 ? "is" : "are") lost (see above); "
                    + (isDryRun ? "all else would be stored" : "all else is stored"))
        }
        return nil
    }
}
