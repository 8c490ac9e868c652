import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire
import Samples

/// The wanted parts of an export of Apple Health, and its person.
struct FileImportOptions: ParsableArguments {
    @Option(
        name: .customLong("type"),
        help: ArgumentHelp("Of an export: only this type; may be repeated.", valueName: "type"))
    var types: [String] = []
    @Option(
        help: ArgumentHelp(
            "Of an export: only records of this source, by the name that the phone shows; may be repeated.",
            valueName: "name"))
    var source: [String] = []
    @Option(
        help: ArgumentHelp("Of an export: only records that end at or after this.", valueName: "when"),
        transform: DateArgument.parsed)
    var from: DateArgument?
    @Option(
        help: ArgumentHelp("Of an export: only records that begin before the end of this.", valueName: "when"),
        transform: DateArgument.parsed)
    var to: DateArgument?
    @Option(help: ArgumentHelp("The person of the export; needed if hub.conf has several people.", valueName: "name"))
    var person: String?
    @Option(
        help: ArgumentHelp(
            "A name that distinguishes this person's exports from those of others; the person's name if not given.",
            valueName: "name"))
    var account: String?
    @Option(
        help: ArgumentHelp(
            "The person's time zone, such as Europe/Berlin, for records without one.",
            valueName: "zone"), transform: ZoneArgument.zone)
    var zone: String?

    var isEmpty: Bool {
        types.isEmpty && source.isEmpty && from == nil && to == nil && person == nil && account == nil && zone == nil
    }

    /// The work for the program that reads the file.
    ///
    /// - Parameter clock: the clock that defines days.
    func job(at door: String, isDryRun: Bool, account: String?, by clock: PersonClock) throws -> ImportDialogue.Job {
        var job = ImportDialogue.Job(
            door: door, instance: LineImport.instance, version: ProductVersion.current, dayZone: clock.zone.identifier,
            isDryRun: isDryRun)
        (job.account, job.person, job.zone) = (account, person, zone)
        if !types.isEmpty { job.types = try TypeArgument.resolved(types) }
        if !source.isEmpty { job.sources = source }
        let (start, end) = try DateArgument.span(from: from, to: to, by: clock)
        job.from = start.map { $0.microseconds.flooredDivision(by: 1_000_000) }
        job.to = end.map { $0.microseconds.flooredDivision(by: 1_000_000) }
        return job
    }
}
