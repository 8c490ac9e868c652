import ArgumentParser
import Foundation
import HealthExports
import HealthText
import HubClient
import HubWire
import Samples

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write records to a file that other programs read.",
        discussion: """
            The format is that of the end of the file's name, or of --format:
            \(ExportFormat.table)

            By default all records of all persons are written. The file gets its name once
            it is complete; if the command is ended before, there is no file. Only you can
            read it, and it replaces no other file. Without a path the records go to
            stdout.

            Records that a format cannot hold are left out and reported, by number and
            reason; Docs/Exports.md lists the contents of each format. JSON Lines hold all
            records, and can be imported: hub import all.jsonl. The order depends only on
            the records: the same records make the same file. JSON Lines leave out the
            hub's own numbers unless you say --numbers.

            Examples:
              hub export all.jsonl
              hub export weights.csv --type weight --person anna --from 5y
              hub export health.sqlite && datasette health.sqlite
              hub export anna.fhir.json --person anna --from 2026-01-01
              hub export --format csv --type heartRate --from 7d | less

            Exit codes: 0; 64 no such format, type or person, or there is such a file;
            69 no hub answers; 71 the disk is full or cannot be written; 130 ended before
            it was done.
            """)

    @Argument(help: "The file; stdout for - and if not given.") var path: String?
    @Option(
        help: ArgumentHelp("One of \(ExportFormat.allNames).", valueName: "format"), transform: ExportFormat.named)
    var format: ExportFormat?
    @OptionGroup var typeNames: TypeNames
    @OptionGroup var only: RecordFilterOptions
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp("Only records that meet these; see hub help samples.", valueName: "conditions"))
    var condition: String?
    @Flag(help: "Also the values that were made for whole days, such as the gap-filler's.") var days = false
    @Flag(help: "In JSON Lines also the hub's own numbers of persons, records and versions.") var numbers = false
    @Option(
        help: ArgumentHelp("Of csv, between commas, of: \(CSVColumn.allNames).", valueName: "columns"),
        transform: Self.columns)
    var columns: [CSVColumn]?
    @Flag(help: "Replace an existing file of this name.") var replace = false
    @Flag(help: "One JSON document about the written file, on stdout; needs a path.") var json = false
    @OptionGroup var options: ConfigurationOptions

    private static func columns(_ text: String) throws -> [CSVColumn] {
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        let columns = words.compactMap { CSVColumn(rawValue: String($0)) }
        guard columns.count == words.count else {
            throw ValidationError("'\(text)': columns are \(CSVColumn.allNames), between commas")
        }
        return columns
    }

    mutating func validate() throws {
        if let path, !path.contains(where: { "./".contains($0) }), EverydayNames.type(path) != nil {
            throw ValidationError(
                "The file comes first: hub export all.csv \(path), or hub export - \(path) --format csv; a file of that name is ./\(path)."
            )
        }
        if path == "-" { path = nil }
        if path == nil {
            if json { throw ValidationError("--json needs a path: stdout has the records.") }
            if replace { throw ValidationError("--replace needs a path.") }
            if format == .sqlite { throw ValidationError("sqlite needs a path: a database is a file.") }
        }
        guard let format = format ?? path.flatMap(ExportFormat.init(nameOf:)) else {
            throw ValidationError(
                path.map { "The end of \($0) names no format; give --format." }
                    ?? "Without a path the format is not known; give --format.")
        }
        if columns != nil, format != .csv { throw ValidationError("--columns needs --format csv.") }
        if !typeNames.all.isEmpty, format == .gpx {
            throw ValidationError("gpx has routes alone: it goes without types.")
        }
        if numbers, format != .jsonLines { throw ValidationError("--numbers needs --format json-lines.") }
        if days, !format.takesDays {
            throw ValidationError("--days needs json-lines, csv or sqlite: \(format.rawValue) cannot hold days.")
        }
    }

    func run() throws {
        guard let format = format ?? path.flatMap(ExportFormat.init(nameOf:)) else { return }
        let asked = try TypeArgument.resolved(typeNames.all)
        let door = try options.door("export")
        let welcome = try door.open()
        var run = ExportRun(
            format: format, door: door, filter: try filter(asked, by: welcome.clock(of: only.person)),
            withDays: days, title: path ?? "export")
        run.asked = asked.isEmpty ? nil : asked
        run.keepsNumbers = numbers
        run.columns = columns ?? CSVColumn.exported
        let account = try run.write(to: try ExportTarget(path, replacing: replace), at: welcome.time)
        try tell(account, format)
    }

    func filter(_ types: [String], by clock: PersonClock) throws(Failure) -> QueryRequest.Filter {
        var filter = try only.filter(types, by: clock)
        if let condition { filter.condition = try WhereArgument.condition(condition, of: types) }
        return filter
    }

    private func tell(_ account: ExportSummary, _ format: ExportFormat) throws {
        if json { return try Output.json(try JSON.line(ExportReport(path: path ?? "", format: format, account))) }
        for line in ExportReport.lines(account, to: path) { Terminal.say(line) }
        if format == .gpx, account.written == 0 { Terminal.say("none of the selected workouts has a route") }
    }
}

/// The document of `hub export --json`.
struct ExportReport: Encodable {
    let file: String
    let format: String
    let records: Int64
    let leftOut: [String: Int64]
    let changed: [String: Int64]

    init(path: String, format: ExportFormat, _ account: ExportSummary) {
        (file, self.format, records) = (path, format.rawValue, account.written)
        (leftOut, changed) = (account.leftOut, account.changed)
    }

    /// The report for people.
    static func lines(_ account: ExportSummary, to path: String?) -> [String] {
        func counted(_ counts: [String: Int64], _ what: String) -> [String] {
            counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { reason, count in
                "\(NumberText.count(count, "record")) \(what): \(reason)"
            }
        }
        return [path.map { "\($0): \(NumberText.count(account.written, "record"))" }].compactMap(\.self)
            + counted(account.leftOut, "left out") + counted(account.changed, "changed")
    }
}

extension ExportFormat {
    fileprivate static let table = allCases.map { format in
        let name = format.rawValue + String(repeating: " ", count: 14 - format.rawValue.count)
        let ends = format.suffixes.map { "." + $0 }.joined(separator: " ")
        return "  \(name)\(ends)\(String(repeating: " ", count: max(1, 24 - ends.count)))\(format.summary)"
    }.joined(separator: "\n")

    private var summary: String {
        switch self {
        case .jsonLines: "everything; hub import reads it"
        case .csv: "spreadsheets, pandas"
        case .sqlite: "Datasette, DuckDB; with views"
        case .fhir: "FHIR R4: a Bundle"
        case .fhirLines: "FHIR R4: Observations, a line each"
        case .openMHealth: "Open mHealth data points"
        case .ieee1752: "IEEE 1752.1 data points"
        case .gpx: "routes, for maps"
        case .appleXML: "as export.xml of Apple Health"
        }
    }
}
