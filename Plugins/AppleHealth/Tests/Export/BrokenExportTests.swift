import AppleExport
import Foundation
import HubProcess
import Samples
import Testing

/// Errors that real phones and other programs have made: everything good is read, and the rest is reported.
@Suite struct BrokenExportTests {
    @Test func `A declaration that no parser accepts is skipped`() throws {
        let reading = try Reading(try fixture("bad-dtd.xml"))
        #expect(reading.rejections.isEmpty)
        #expect(reading.samples("weight").count == 1 && reading.samples("stepCount").count == 1)
        #expect(reading.account.isComplete && reading.account.oddities.isEmpty)
    }

    @Test func `A control character becomes a space, and nothing after it is lost`() throws {
        let reading = try Reading(try fixture("bad-control-char.xml"))
        #expect(reading.samples.filter { $0.value.kind == .quantity }.count == 3)
        let steps = try #require(reading.samples("stepCount").first)
        #expect(steps.source.device == "Test Phone")
        #expect(steps.canonical == 512 && steps.end.text == "2026-02-10T07:10:00Z")
        #expect(reading.count(.controlCharacter) == 1)
    }

    @Test func `A second startDate is the end`() throws {
        let reading = try Reading(try fixture("bad-duplicate-attribute.xml"))
        #expect(reading.rejections.isEmpty)
        let workout = try #require(reading.samples("workout").first?.workout)
        #expect(workout.totals.map(\.value) == [300])
        #expect(reading.count(.repeatedAttribute) == 1)
        let element =
            " <Record type=\"HKQuantityTypeIdentifierStepCount\" sourceName=\"a\" unit=\"count\" value=\"3\" startDate=\"2026-02-10 08:00:00 +0100\" startDate=\"2026-02-10 08:10:00 +0100\"/>"
        let sample = try #require(try Reading(of: element).samples("stepCount").first)
        #expect(sample.start.text == "2026-02-10T07:00:00Z" && sample.end.text == "2026-02-10T07:10:00Z")
    }

    @Test func `A truncated file is read up to its last complete element, and the truncation is reported`() throws {
        let reading = try Reading(try fixture("bad-truncated.xml"))
        #expect(reading.samples("weight").count == 1 && reading.samples("stepCount").isEmpty)
        #expect(!reading.account.isComplete && reading.count(.truncated) == 1)
    }

    @Test func `Wherever a file is cut, exactly the elements that were complete are read`() throws {
        let scratch = try TemporaryFolder()
        let whole = try Data(contentsOf: URL(filePath: try fixture("synthetic.xml")))
        let all = try Reading(try fixture("synthetic.xml"))
        let known = Set(all.groups.joined())
        let start = try #require(whole.range(of: Data("<HealthData".utf8))).lowerBound
        for cut in stride(from: start + 30, to: whole.count - 15, by: 211) {
            let file = try scratch.write(Array(whole.prefix(cut)), to: "export.xml")
            let reading = try Reading(file)
            #expect(!reading.account.isComplete, "\(cut)")
            #expect(reading.rejections.isEmpty, "\(cut): \(reading.rejections)")
            // The members of a truncated correlation are there without it.
            let news = reading.groups.joined().filter {
                !known.contains($0) && !$0.contains("bloodPressure") && !$0.contains("dietary")
                    && !$0.contains("EffortScore") && !$0.contains("activitySummary")
            }
            #expect(news.isEmpty, "\(cut): \(news)")
        }
    }

    @Test func `An export of another program without declaration, device, date and person is read as far as possible`()
        throws
    {
        let reading = try Reading(try fixture("paulstaab-mit.xml"))
        #expect(reading.rejections.isEmpty, "\(reading.rejections)")
        #expect(reading.samples("workout").count == 8)
        let run = try #require(reading.samples("workout").first { $0.source.device == "Synthetic & Run Club" })
        #expect(run.workout?.totals.first?.value == 2.5, "statistics go before the attribute")
        // Heart rates without a unit could be anything, so they are kept as they are.
        #expect(reading.samples("heartRate").isEmpty && reading.samples("x.apple.exportElement").count == 5)
        #expect(reading.count(.unreadValue) == 5)
    }

    @Test func `Bytes lost in the middle cost only the elements that they were in`() throws {
        let records = (0..<200).map {
            record(
                value: "\($0)",
                start: "2026-02-10 08:\($0 / 60 < 10 ? "0" : "")\($0 / 60):\($0 % 60 < 10 ? "0" : "")\($0 % 60) +0100")
        }
        let text = export(records.joined())
        let scratch = try TemporaryFolder()
        let all = try Reading(try scratch.write(text, to: "whole.xml"))
        #expect(all.samples.count == 200)
        let bytes = Array(text.utf8)
        let first = try #require(text.range(of: "<Record")).lowerBound.utf16Offset(in: text)
        for place in stride(from: first, to: bytes.count - 500, by: 97) {
            let damaged = Array(bytes[..<place] + bytes[(place + 150)...])
            let reading = try Reading(try scratch.write(damaged, to: "damaged.xml"))
            let lost = Set(all.groups.joined()).subtracting(reading.groups.joined())
            #expect(lost.count <= 3, "\(place)")
            #expect(reading.samples.count >= 198, "\(place)")
            #expect(reading.account.isComplete)
        }
    }

    @Test func `Entities of a declaration are not expanded, whatever they are`() throws {
        let scratch = try TemporaryFolder()
        let file = try scratch.write(
            """
            <?xml version="1.0"?>
            <!DOCTYPE HealthData [
            <!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY secret SYSTEM "file:///etc/passwd">
            ]>
            <HealthData>
            \(record(source: "&b; &secret; &amp; &#65;&#x42;&#11;"))
            </HealthData>
            """, to: "export.xml")
        let reading = try Reading(file)
        #expect(reading.samples.first?.source.device == "&b; &secret; & AB")
        #expect(reading.count(.unknownEntity) == 1 && reading.count(.controlCharacter) == 1)
    }

    @Test
    func `Impossible times, ends before starts and missing times are reported, and no value is made of them`() throws {
        let reading = try Reading(
            of: record(start: "2026-02-30 08:00:00 +0100") + record(start: "2026-02-10 08:00:00")
                + record(start: "2026-02-10 08:00:00 +0100", end: "2026-02-10 07:00:00 +0100")
                + " <Record type=\"HKQuantityTypeIdentifierStepCount\" unit=\"count\" value=\"1\"/>\n"
                + record(value: "7", start: "2026-02-10 08:00:00+0100"))
        #expect(reading.rejections.isEmpty)
        #expect(reading.samples("stepCount").map(\.canonical) == [7])
        #expect(reading.samples("x.apple.exportElement").count == 1)
        #expect(
            reading.count(.wrongTime) == 2 && reading.count(.wrongEnd) == 1 && reading.count(.missingAttribute) == 1)
        #expect(reading.account.lost == 3)
    }

    @Test func `A blood pressure without a member and a food without a name are kept in parts`() throws {
        let systolic = record("HKQuantityTypeIdentifierBloodPressureSystolic", unit: "mmHg", value: "121")
        let protein = record("HKQuantityTypeIdentifierDietaryProtein", unit: "g", value: "9")
        func correlation(_ type: String, _ members: String) -> String {
            " <Correlation type=\"\(type)\" sourceName=\"a\" startDate=\"2026-02-10 08:00:00 +0100\" endDate=\"2026-02-10 08:00:00 +0100\">\(members)</Correlation>\n"
        }
        let reading = try Reading(
            of: correlation("HKCorrelationTypeIdentifierBloodPressure", systolic)
                + correlation("HKCorrelationTypeIdentifierFood", protein))
        #expect(reading.rejections.isEmpty)
        #expect(reading.samples("bloodPressureSystolic").count == 1 && reading.samples("dietaryProtein").count == 1)
        #expect(reading.samples("x.apple.exportElement").count == 2)
        #expect(reading.count(.brokenCorrelation) == 2)
    }

    @Test func `A type with an impossible name is kept as it is`() throws {
        let scratch = try TemporaryFolder()
        let reading = try Reading(
            try scratch.write(
                export(record("HKQuantityTypeIdentifier Steps!", value: "7") + record("\u{1F9A6}", value: "7")),
                to: "export.xml"))
        #expect(reading.rejections.isEmpty, "\(reading.rejections)")
        let kept = reading.samples("x.apple.exportElement")
        #expect(kept.compactMap { ($0.facts["attributes"] as? [String: Any])?["type"] as? String }.count == 2)
        #expect(Set(kept.map(\.key.text)).count == 2)
    }

    @Test func `A file that is not an export is refused, and the error says why`() throws {
        let scratch = try TemporaryFolder()
        for (name, text) in [("empty.xml", ""), ("page.xml", "<html></html>"), ("text.zip", "PK")] {
            let file = try scratch.write(text, to: name)
            let error = #expect(throws: ExportError.self) { try Reading(file) }
            #expect(error?.code == .notAnExport, "\(name)")
        }
        let missing = #expect(throws: ExportError.self) { try Reading(scratch.path + "/none.zip") }
        #expect(missing?.code == .missing)
    }
}
