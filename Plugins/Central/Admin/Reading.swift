import ArgumentParser
import Foundation
import HealthExports
import PostgreSQL
import Samples

struct CentralStatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Figures of a study by type and week, of groups that are large enough.",
        discussion: """
            The mean and deviation are of all records alike: if a person has two sources of the
            same values, both count. Only types that add up, such as steps, have a total.

            Examples:
              hub-central-admin stats heart
              hub-central-admin stats heart --type weight --json
            """)
    @OptionGroup var place: DatabaseOptions
    @Argument var study: String
    @Option(help: "Only this type.") var type: String?
    @Flag(help: "One JSON document.") var json = false

    func run() async throws {
        try await place.desk(as: nil).show(
            """
            SELECT type, unit, week, persons, n, round(mean::numeric, 3) AS mean, round(sd::numeric, 3) AS sd, round(total::numeric, 3) AS total
            FROM central.study_week WHERE study = $1 AND ($2::text IS NULL OR type = $2) ORDER BY type, week
            """, study, type, json: json)
    }
}

enum StudyFormat: String, ExpressibleByArgument, CaseIterable { case csv, fhir }

struct CentralExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print a study's records, under their pseudonyms.",
        discussion: """
            csv has a line for each record, with times in UTC, ready for a typed reader such
            as Parquet's. fhir is FHIR R4 as NDJSON, an Observation a line; records without a
            place in one are left out and counted. A study with figures only has no records.

            Examples:
              hub-central-admin export heart > heart.csv
              hub-central-admin export heart --format fhir > heart.ndjson
            """)
    @OptionGroup var place: DatabaseOptions
    @Argument var study: String
    @Option(help: "csv or fhir.") var format = StudyFormat.csv
    @Flag(help: "A summary of the export, as one JSON document on stderr.") var json = false

    private static let columns = [
        "record", "pseudonym", "type", "kind", "start_at", "end_at", "offset_min", "value", "unit", "word", "flags",
        "series", "method", "plugin",
    ]

    func run() async throws {
        let desk = try await place.desk(as: nil)
        let time = "to_char(%@ AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
        var (written, leftOut) = (0, [String: Int64]())
        var fhir = FHIRLinesExport(joinsCorrelations: false)
        // Read in pieces from one snapshot.
        try await desk.ask("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        try await desk.ask(
            """
            DECLARE rows CURSOR FOR SELECT record, pseudonym, type, kind, \(String(format: time, "start_at")), \(String(format: time, "end_at")), offset_min,
                value, unit, word, flags, body ->> 'series', body ->> 'method', body ->> 'plugin'
            FROM central.study_record WHERE study = \(literal(study)) ORDER BY pseudonym, start_at, record
            """)
        if format == .csv { print(Self.columns.joined(separator: ",")) }
        while true {
            let page = try await desk.ask("FETCH 2000 FROM rows", within: .seconds(3_600)).rows
            if page.isEmpty { break }
            var output: [UInt8] = []
            for row in page {
                switch format {
                case .csv: output += (CSVColumn.line(of: row.map { $0 ?? "" }) + "\n").utf8
                case .fhir:
                    if let record = Self.stored(row) {
                        fhir.write(ExportItem(record, json: []), to: &output)
                    } else {
                        leftOut["not a number", default: 0] += 1
                    }
                }
            }
            written += page.count
            try FileHandle.standardOutput.write(contentsOf: Data(output))
        }
        try await desk.ask("COMMIT")
        if format == .fhir {
            written = Int(fhir.account.written)
            leftOut.merge(fhir.account.leftOut) { $0 + $1 }
        }
        let told = leftOut.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: "; ")
        if json {
            let data = try JSONSerialization.data(
                withJSONObject: ["written": written, "leftOut": leftOut], options: .sortedKeys)
            complain(String(decoding: data, as: UTF8.self))
        } else {
            complain("\(written) records\(told.isEmpty ? "" : "; left out: \(told)")")
        }
    }

    /// The row as a record of the hub; nil if it is not a quantity.
    private static func stored(_ row: [String?]) -> StoredRecord? {
        guard row[3] == "q", let id = row[0], let pseudonym = row[1], let type = row[2].flatMap({ try? TypeID($0) }),
            let unit = row[8],
            let key = RecordKey(id),
            let value = row[7].flatMap(Double.init), let start = row[4].flatMap({ try? Timestamp(parsing: $0) })
        else { return nil }
        let offset = row[6].flatMap { Int16($0) }
        let end = row[5].flatMap { try? Timestamp(parsing: $0) }
        let sample = Sample(
            source: Source(plugin: row[13] ?? "central"), key: key, type: type,
            value: .quantity(value, unit: unit),
            start: Timestamp(microseconds: start.microseconds, offsetMinutes: offset),
            end: end.map { Timestamp(microseconds: $0.microseconds, offsetMinutes: offset) })
        return StoredRecord(
            record: .sample(sample), number: 0, sequence: 0,
            assignment: .person(Person(uid: pseudonym, name: pseudonym)), type: sample.type)
    }
}
