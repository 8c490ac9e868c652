import HealthExports
import Testing

@Suite struct ExportFormatTests {
    @Test func `the longest matching suffix of a name determines the format`() {
        let named: [(String, ExportFormat?)] = [
            ("all.jsonl", .jsonLines), ("a/b.CSV", .csv), ("health.db", .sqlite), ("anna.fhir.json", .fhir),
            ("anna.omh.jsonl", .openMHealth), ("x.ieee.jsonl", .ieee1752), ("x.fhir.ndjson", .fhirLines),
            ("runs.gpx", .gpx), ("export.xml", .appleXML), ("what.json", nil), ("csv", nil), ("", nil),
        ]
        for (name, format) in named { #expect(ExportFormat(nameOf: name) == format, "\(name)") }
    }

    @Test func `no two formats have the same suffix`() {
        let all = ExportFormat.allCases.flatMap(\.suffixes)
        #expect(Set(all).count == all.count)
    }
}
