import Foundation
import HubProcess
import Samples
import Testing

@testable import AppleExport

/// Clinical documents with the files that they name, and the limits for files beside the XML.
@Suite(.timeLimit(.minutes(1))) struct DocumentTests {
    private static let report = "clinical-records/DiagnosticReport-1.json"
    private static let clinical =
        " <ClinicalRecord type=\"DiagnosticReport\" identifier=\"r-1\" sourceName=\"Clinic\" sourceURL=\"https://fhir.example.org/r4\" fhirVersion=\"4.0.1\" receivedDate=\"2026-02-01 00:00:00 +0100\" resourceFilePath=\"/\(report)\"/>\n"

    private func documents(_ reading: Reading) -> [Sample] { reading.samples("x.apple.clinicalDocument") }

    private func text(_ sample: Sample) -> String {
        if case .other(let text?) = sample.value { text } else { "" }
    }

    @Test func `The files that a clinical document names as attachments are kept with it, byte for byte`() throws {
        let scratch = try TemporaryFolder()
        try scratch.write(export(Self.clinical), to: "export.xml")
        let document =
            #"{"resourceType":"DiagnosticReport","presentedForm":[{"contentType":"application/pdf","url":"Attachment-1.pdf"},{"url" : "https:\/\/fhir.example.org\/Binary\/scan.bin"},{"url":"Attachment-1.pdf"},{"data":"aGVsbG8="},{"url":"../export.xml"},{"url":"elsewhere.pdf"}]}"#
        try scratch.write(document, to: Self.report)
        let pdf = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try scratch.write(pdf, to: "clinical-records/Attachment-1.pdf")
        try scratch.write([0, 1, 2], to: "clinical-records/scan.bin")
        try scratch.write("nobody names it", to: "clinical-records/other.txt")
        let reading = try Reading(scratch.path)
        #expect(reading.rejections.isEmpty, "\(reading.rejections)")
        let all = documents(reading)
        #expect(Set(all.map(\.group)).count == 1 && Set(all.map(\.key)).count == all.count)
        #expect(all.map(text).first == document)
        func file(_ name: String) -> [Sample] {
            all.filter { $0.facts["file"] as? String == "clinical-records/\(name)" }
        }
        let parts = file("Attachment-1.pdf")
        #expect(parts.map { $0.facts["part"] as? Int } == [1, 2, 3])
        #expect(parts.allSatisfy { $0.facts["encoding"] as? String == "base64" && $0.facts["parts"] as? Int == 3 })
        #expect(parts.flatMap { Array(Data(base64Encoded: text($0)) ?? Data()) } == pdf)
        #expect(file("scan.bin").map(text) == ["AAEC"])
        #expect(all.count == 5 && reading.count(.otherFile) == 1)
    }

    @Test
    func `An attachment that is too large or beyond the hundredth is skipped and counted, and the document stays`()
        throws
    {
        let scratch = try TemporaryFolder()
        try scratch.write(export(Self.clinical), to: "export.xml")
        let names = ["large.pdf"] + (1...100).map { "\($0).txt" }
        let document = "{\"content\":[" + names.map { "{\"url\":\"\($0)\"}" }.joined(separator: ",") + "]}"
        try scratch.write(document, to: Self.report)
        try scratch.write([UInt8](repeating: 7, count: (16 << 20) + 1), to: "clinical-records/large.pdf")
        for name in names.dropFirst() { try scratch.write(name, to: "clinical-records/\(name)") }
        let reading = try Reading(scratch.path)
        #expect(documents(reading).count == 1 + 99 && reading.count(.leftOut) == 2)
        #expect(reading.count(.otherFile) == 0 && reading.account.fault == nil)
    }

    private static let run =
        " <Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" sourceName=\"W\" startDate=\"2026-02-10 18:05:00 +0100\" endDate=\"2026-02-10 18:37:00 +0100\">"

    private static func route(_ names: [String]) -> String {
        "<WorkoutRoute sourceName=\"W\" startDate=\"2026-02-10 18:05:00 +0100\" endDate=\"2026-02-10 18:37:00 +0100\">"
            + names.map { "<FileReference path=\"/workout-routes/\($0)\"/>" }.joined() + "</WorkoutRoute>"
    }

    @Test func `A file that is named repeatedly is not read without a limit`() throws {
        let scratch = try TemporaryFolder()
        let points = (0..<10).map { "<trkpt lat=\"52.5\" lon=\"13.4\"><time>2026-02-10T17:05:1\($0)Z</time></trkpt>" }
            .joined()
        let gpx = "<gpx>\(points)</gpx>"
        try scratch.write(gpx, to: "workout-routes/a.gpx")
        let routes = String(repeating: Self.route(["a.gpx"]), count: 40)
        try scratch.write(export("\(Self.run)\(routes)</Workout>"), to: "export.xml")
        let reader = try ExportReader(scratch.path, scratch: FileManager.default.temporaryDirectory.path)
        reader.maximumFileBytes = Int64(gpx.utf8.count * 3)
        var count = 0
        while let batch = try reader.next(1_000) { count += batch.count }
        #expect(count == 1 + 3 && reader.account.oddities[.leftOut]?.count == 37)
    }

    @Test func `A workout has at most a thousand files of routes, in any number of routes`() throws {
        let routes = (0..<3).map { route in Self.route((0..<400).map { "\(route)-\($0).gpx" }) }.joined()
        let reading = try Reading(of: "\(Self.run)\(routes)</Workout>")
        #expect(reading.count(.leftOut) == 200 && reading.count(.missingFile) == 1_000)
    }
}
