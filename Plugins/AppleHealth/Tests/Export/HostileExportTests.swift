import AppleExport
import Foundation
import HubProcess
import Samples
import Testing

/// Files that were made to do harm, or that an error has made equally bad.
@Suite(.timeLimit(.minutes(1))) struct HostileExportTests {
    private static let ecg = """
        Name,A
        Date of Birth,x
        Recorded Date,2026-02-10 06:31:00 +0100
        Classification,Sinus Rhythm
        Symptoms,
        Software Version,1
        Device,"Watch6,1"
        Sample Rate,RATE hertz
        Lead,Lead I
        Unit,µV

        1.5
        2.5

        """

    @Test(arguments: ["0.0000000000000000001", "0.000000000001", "0.00000001"])
    func `An electrocardiogram whose rate would make it endless ends at its start, and is reported`(_ rate: String)
        throws
    {
        let scratch = try TemporaryFolder()
        try scratch.write(export(record()), to: "export.xml")
        try scratch.write(Self.ecg.replacing("RATE", with: rate), to: "electrocardiograms/e.csv")
        let reading = try Reading(scratch.path)
        #expect(reading.rejections.isEmpty, "\(reading.rejections)")
        let ecg = try #require(reading.samples("electrocardiogram").first)
        if rate == "0.00000001" {
            #expect(ecg.end.text == "2032-06-13T01:04:20Z")
        } else {
            #expect(ecg.end.microseconds == ecg.start.microseconds && reading.count(.unreadValue) == 1)
        }
    }

    @Test func `An event whose end is beyond the calendar ends at its start, and is reported`() throws {
        let workout = """
             <Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="W" startDate="9999-12-30 23:59:00 +0000" endDate="9999-12-30 23:59:30 +0000">
              <WorkoutEvent type="HKWorkoutEventTypePause" date="9999-12-30 23:59:00 +0000" duration="5" durationUnit="min"/>
             </Workout>
            """
        let reading = try Reading(of: workout)
        let event = try #require(reading.samples("workout").first?.workout?.events.first)
        #expect(event.end.microseconds == event.start.microseconds && reading.count(.unreadValue) == 1)
    }

    @Test(arguments: ["9999-12-31", "0001-01-01"])
    func `A day beyond the range of times is reported and skipped`(_ day: String) throws {
        let elements = """
             <Me HKCharacteristicTypeIdentifierDateOfBirth="\(day)" HKCharacteristicTypeIdentifierBloodType="HKBloodTypeNotSet"/>
             <ActivitySummary dateComponents="\(day)" appleStandHours="3"/>
            """
        let reading = try Reading(of: elements, ExportOptions(dayZone: "Asia/Tokyo"))
        #expect(reading.rejections.isEmpty, "\(reading.rejections)")
        #expect(reading.count(.wrongTime) == 2)
    }

    @Test func `A value of a day with an unknown unit is reported and skipped, and the other values of the day stay`()
        throws
    {
        let element = """
             <ActivitySummary dateComponents="2026-02-11" activeEnergyBurned="300" activeEnergyBurnedUnit="kdJ" \
            appleMoveTime="20" appleStandHours="3"/>
             <ActivitySummary dateComponents="2026-02-12" activeEnergyBurned="300" appleStandHours="4"/>
            """
        let reading = try Reading(of: element)
        let summaries = reading.samples("activitySummary").compactMap(\.activitySummary)
        #expect(summaries.map { $0.appleStandHours?.value } == [3, 4])
        #expect(summaries.allSatisfy { $0.activeEnergyBurned == nil } && summaries.first?.appleMoveTime?.value == 20)
        #expect(reading.rejections.isEmpty && reading.count(.unreadValue) == 2)
    }

    @Test func `A source whose name has a control character keeps its records`() throws {
        let scratch = try TemporaryFolder()
        let text = export(record()).replacing("sourceName=\"", with: "sourceName=\"\u{7F}")
        let reading = try Reading(try scratch.write(text, to: "export.xml"))
        #expect(reading.groups.count == 1 && reading.rejections.isEmpty, "\(reading.rejections)")
    }

    @Test func `A value of an unknown type with an empty unit is kept, and the hub accepts it`() throws {
        let reading = try Reading(of: record("HKQuantityTypeIdentifierNovelty", unit: ""))
        #expect(reading.groups.count == 1 && reading.rejections.isEmpty, "\(reading.rejections)")
        #expect(reading.count(.unreadValue) == 1)
    }

    @Test(arguments: ["5e-324", "2.5e-310", "1.7e308", "-4e-320", "1e-291"])
    func `The smallest and largest numbers have a key, too`(_ value: String) throws {
        let reading = try Reading(of: record(value: value))
        #expect(reading.groups.count == 1)
    }

    @Test(arguments: ["<!--", "</", "<?"])
    func `A file that only opens comments, end tags or instructions takes no longer to read than another`(
        _ beginning: String
    ) throws {
        let scratch = try TemporaryFolder()
        let text = export(record(), end: "") + String(repeating: beginning, count: 2_300_000 / beginning.utf8.count)
        let file = try scratch.write(text, to: "export.xml")
        let clock = ContinuousClock()
        var reading: Reading?
        let time = try clock.measure { reading = try Reading(file) }
        #expect(reading?.samples.count == 1 && reading?.account.isComplete == false)
        // If the reader searched the same bytes again and again, it would take more than a minute.
        #expect(time < .seconds(10))
    }

    @Test(arguments: ["export.xml", "electrocardiograms", "electrocardiograms/e.csv"])
    func `A link in an unpacked export is not followed, at any level`(_ link: String) throws {
        let scratch = try TemporaryFolder()
        try scratch.write(export(record()), to: "in/export.xml")
        try scratch.write(Self.ecg.replacing("RATE", with: "512"), to: "in/electrocardiograms/e.csv")
        #expect(try Reading(scratch.path + "/in").samples("electrocardiogram").count == 1)
        let files = FileManager.default
        try files.moveItem(atPath: "\(scratch.path)/in/\(link)", toPath: "\(scratch.path)/moved")
        try files.createSymbolicLink(atPath: "\(scratch.path)/in/\(link)", withDestinationPath: "\(scratch.path)/moved")
        guard link != "export.xml" else {
            #expect(#expect(throws: ExportError.self) { try Reading(scratch.path + "/in") }?.code == .notAnExport)
            return
        }
        let reading = try Reading(scratch.path + "/in")
        #expect(reading.samples("electrocardiogram").isEmpty && reading.samples("stepCount").count == 1)
        guard link == "electrocardiograms" else { return }
        #expect(reading.count(.damagedFile) == 1 && reading.account.fault?.contains("it is a link") == true)
    }

    @Test func `The given path may be a link`() throws {
        let scratch = try TemporaryFolder()
        let file = try scratch.write(export(record()), to: "in/export.xml")
        for (name, path) in [("folder", scratch.path + "/in"), ("file.xml", file)] {
            let link = "\(scratch.path)/\(name)"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            #expect(try Reading(link).samples.count == 1)
        }
    }

    @Test(arguments: [
        ("America/Santiago", "2023-09-03", "2023-09-03T01:00:00-03:00"),
        ("America/Santiago", "2023-04-02", "2023-04-02T00:00:00-04:00"),
        ("Europe/Berlin", "2026-03-29", "2026-03-29T00:00:00+01:00"),
        ("Asia/Beirut", "2024-03-31", "2024-03-31T01:00:00+03:00"),
    ])
    func `A day begins on that day, also if the clocks are put forward at midnight`(
        _ zone: String, _ day: String, _ start: String
    ) throws {
        let reading = try Reading(
            of: " <ActivitySummary dateComponents=\"\(day)\" appleStandHours=\"3\"/>", ExportOptions(dayZone: zone))
        let summary = try #require(reading.samples("activitySummary").first)
        #expect(summary.start.text == start)
    }
}
