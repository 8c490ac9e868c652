import AppleExport
import Foundation
import HubProcess
import HubWire
import Samples
import Testing

/// Everything in an export is stored, kept as it is written, excluded as requested, or reported with its place, date and reason.
@Suite(.timeLimit(.minutes(2))) struct OmissionTests {
    private func places(_ oddity: AppleExportSummary.Anomaly, _ reading: Reading) -> [AppleExportSummary.Place] {
        reading.account.oddities[oddity]?.places ?? []
    }

    // MARK: - Times

    @Test(arguments: [
        ("2026-11-02T08:00:00Z", "2026-11-02T08:00:00Z"),
        ("2026-11-02T08:00:00.123456+01:00", "2026-11-02T07:00:00.123456Z"),
        ("2026-11-05 08:00:00.500 +0100", "2026-11-05T07:00:00.5Z"), ("20150616071820-0700", "2015-06-16T14:18:20Z"),
        ("2026-11-09 08:00:00 GMT+01:00", "2026-11-09T07:00:00Z"), ("2026-11-09 08:00:00 UTC", "2026-11-09T08:00:00Z"),
        ("2026-11-07 8:00:00 AM +0100", "2026-11-07T07:00:00Z"),
        ("2026-11-07 12:05:00\u{202F}a.m. +0100", "2026-11-06T23:05:00Z"),
        ("2026-11-07 7:57:00 p. m. +0100", "2026-11-07T18:57:00Z"),
        ("2026-11-07 오후 8:00:00 +0900", "2026-11-07T11:00:00Z"),
        ("2026-11-07 上午8:00:00 +0800", "2026-11-07T00:00:00Z"),
        ("2026-11-07 8:00:00 π.μ. +0200", "2026-11-07T06:00:00Z"),
        ("٢٠٢٦-١١-٠٨ ٠٨:٠٠:٠٠ +0300", "2026-11-08T05:00:00Z"), ("2026-11-08 08:00 +01", "2026-11-08T07:00:00Z"),
    ]) func `A time that can mean only one instant is that instant`(_ text: String, _ instant: String) throws {
        let reading = try Reading(of: record(start: text))
        #expect(reading.samples("stepCount").map(\.start.text) == [instant])
        #expect(reading.rejections.isEmpty && reading.account.lost == 0)
    }

    @Test(arguments: [
        "2026-11-07 08:00:00", "07.11.2026 08:00:00 +0100", "11/07/26 08:00:00 +0100", "2026-11-07 13:00:00 AM +0100",
        "2026-11-07 8:00:00 Uhr +0100", "2026-11-07 08:00:00 CET", "2026-13-07 08:00:00 +0100", "2026-11-07",
        "1720000000", "",
    ]) func `A time that can mean several instants or none is lost, and reported as it is written`(_ text: String)
        throws
    {
        let reading = try Reading(of: record(source: "Scale", start: text))
        #expect(reading.samples.isEmpty && reading.account.lost == 1)
        let place = try #require(places(.wrongTime, reading).first)
        #expect(place.date == text && place.type == "stepCount" && place.source == "Scale" && place.byte != nil)
    }

    @Test(arguments: ["2026-03-01", "2569-03-01"])
    func `Times of the calendar of Thailand are converted to their instants, including leap days`(exported: String)
        throws
    {
        let scratch = try TemporaryFolder()
        let text = export(
            record(start: "2569-02-28 08:00:00 +0700") + record(start: "2026-02-10 08:00:00 +0700")
                + record(start: "2567-02-29 08:00:00 +0700"))
        let own = text.replacing("ExportDate value=\"2026-03-01", with: "ExportDate value=\"\(exported)")
        let reading = try Reading(try scratch.write(own, to: "own.xml"))
        #expect(
            reading.samples.map(\.start.text) == [
                "2026-02-28T01:00:00Z", "2026-02-10T01:00:00Z", "2024-02-29T01:00:00Z",
            ])
        #expect(places(.unlikelyTime, reading).isEmpty)
    }

    @Test(arguments: [
        "1405-09-08 08:00:00 +0330", "۱۴۰۵-۰۹-۰۸ ۰۸:۰۰:۰۰ +۰۳۳۰", "1448-06-19 08:00:00 +0300",
        "0115-11-29 08:00:00 +0800",
        "0008-11-29 08:00:00 +0900",
    ]) func `A year that occurs in several calendars makes a time lost, and it is reported as it is written`(
        _ text: String
    ) throws {
        let reading = try Reading(of: record(start: text))
        #expect(reading.samples.isEmpty && reading.account.lost == 1)
        #expect(places(.wrongTime, reading).map(\.date) == [text])
    }

    @Test func `Samples of the same second and value with different fractions are different samples`() throws {
        let reading = try Reading(
            of: record(start: "2026-02-10 08:00:00.1 +0100") + record(start: "2026-02-10 08:00:00.2 +0100")
                + record(start: "2026-02-10 08:00:00 +0100"))
        #expect(Set(reading.samples.map(\.key.text)).count == 3)
    }

    @Test func `Support for fractions of a second does not change the key of a sample without one`() throws {
        let plain = try #require(try Reading(of: record()).samples.first)
        #expect(try Reading(of: record(start: "2026-02-10T08:00:00+01:00")).samples.first?.key == plain.key)
    }

    @Test func `A record with an invalid end is kept with everything in its element`() throws {
        let reading = try Reading(
            of: record(end: "2026-02-10 07:00:00 +0100") + record(value: "11", end: "yesterday") + """
                 <Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="W" duration="30" durationUnit="min" \
                startDate="2026-02-10 18:00:00 +0100" endDate="2026-02-10 17:00:00 +0100">
                  <WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned" sum="300" unit="kcal"/>
                 </Workout>
                """)
        let kept = reading.samples("x.apple.exportElement")
        #expect(kept.count == 3 && reading.account.lost == 0 && reading.rejections.isEmpty)
        let unread = kept.compactMap { $0.facts["unread"] as? [String: Any] }
        #expect(
            unread.map { $0["endDate"] as? String } == ["2026-02-10T06:00:00Z", "yesterday", "2026-02-10T16:00:00Z"])
        #expect((unread.last?["Workout"] as? [String: Any])?["duration"] as? String == "30")
        #expect(unread.last?["parts"] != nil)
        #expect(places(.wrongEnd, reading).count == 3)
    }

    // MARK: - iOS 8

    @Test func `An export of iOS 8 is read, and its attributes with spaces are metadata`() throws {
        let reading = try Reading(
            of: """
                 <Record type="HKQuantityTypeIdentifierBodyFatPercentage" source="Withings" unit="%" \
                creationDate="20150616071916-0700" startDate="20150616071820-0700" endDate="20150616071820-0700" \
                Health Mate App Version="2.6.0" HKWasUserEntered="0" Modified Date="2015-06-16 14:19:08 +0000" value="0.221"/>
                 <Record type="HKQuantityTypeIdentifierBodyMass" source="Withings" unit="lb" startDate="20150616071820-0700" endDate="20150616071820-0700" value="177.2"/>
                """)
        let fat = try #require(reading.samples("bodyFatPercentage").first)
        #expect(fat.canonical == 0.221 && fat.source.device == "Withings" && fat.start.text == "2015-06-16T14:18:20Z")
        #expect(
            fat.facts["Health Mate App Version"] as? String == "2.6.0" && fat.facts["wasUserEntered"] as? Bool == false)
        #expect(reading.samples("weight").count == 1 && reading.account.oddities.isEmpty)
        // The same sample in a later export has the same key.
        let later = try Reading(
            of: record(
                "HKQuantityTypeIdentifierBodyMass", source: "Withings", unit: "lb", value: "177.2",
                start: "2015-06-16 16:18:20 +0200"))
        #expect(later.samples.first?.key == reading.samples("weight").first?.key)
    }

    // MARK: - Values and units

    @Test(arguments: [
        ("HeartRate", "bpm", "62", 62), ("BodyTemperature", "°C", "36.6", 36.6),
        ("ActiveEnergyBurned", "kilocalories", "12.5", 12.5),
        ("DistanceWalkingRunning", "Km", "3", 3_000), ("BodyMass", "Lbs", "100", 45.359_237),
    ]) func `A unit in another spelling is read, and kept as it is written`(
        _ type: String, _ unit: String, _ value: String, _ canonical: Double
    ) throws {
        let reading = try Reading(of: record("HKQuantityTypeIdentifier\(type)", unit: unit, value: value))
        let sample = try #require(reading.samples.first)
        #expect(sample.canonical.map { abs($0 - canonical) < 1e-9 } == true && sample.facts["unit"] as? String == unit)
        #expect(reading.rejections.isEmpty && reading.account.oddities.isEmpty)
    }

    @Test(arguments: [
        ("BodyFatPercentage", "%", "18.5", AppleExportSummary.Anomaly.impossibleValue),
        ("OxygenSaturation", "%", "97", .impossibleValue),
        ("BodyFatPercentage", "%", "25 %", .unreadValue), ("BodyMass", "kg", "80,5", .unreadValue),
        ("BodyMass", "kg", "9000", .impossibleValue), ("HeartRate", "calories", "62", .unreadValue),
    ]) func `An ambiguous value is kept as it is written, and reported with date and source`(
        _ type: String, _ unit: String, _ value: String, _ oddity: AppleExportSummary.Anomaly
    ) throws {
        let reading = try Reading(
            of: record("HKQuantityTypeIdentifier\(type)", source: "Renpho", unit: unit, value: value))
        let kept = try #require(reading.samples("x.apple.exportElement").first)
        let attributes = try #require(kept.facts["attributes"] as? [String: Any])
        #expect(attributes["value"] as? String == value && attributes["unit"] as? String == unit)
        let place = try #require(places(oddity, reading).first)
        #expect(place.source == "Renpho" && place.date == "2026-02-10T07:00:00Z" && place.reason != nil)
        #expect(reading.samples.count == 1 && reading.account.lost == 0 && reading.rejections.isEmpty)
    }

    @Test func `A record without metadata that its type needs is kept, and the missing key is named`() throws {
        let reading = try Reading(
            of: record("HKCategoryTypeIdentifierMenstrualFlow", unit: nil, value: "HKCategoryValueVaginalBleedingLight")
        )
        #expect(reading.samples("x.apple.exportElement").count == 1 && reading.rejections.isEmpty)
        #expect(places(.missingMetadata, reading).first?.reason == "HKMenstrualCycleStart is missing")
    }

    @Test func `An unknown element is kept with its content, and a record in it is read`() throws {
        let reading = try Reading(
            of:
                " <Novelty kind=\"x\" startDate=\"2026-02-10 08:00:00 +0100\"><Part a=\"1\"><Deep b=\"2\"/></Part></Novelty>\n"
                + " <Novelty><Part/>\(record())</Novelty>\n" + record(value: "12", children: "<Note text=\"n\"/>"))
        let kept = try #require(reading.samples("x.apple.exportElement").first)
        #expect((kept.facts["attributes"] as? [String: Any])?["kind"] as? String == "x")
        let names = (kept.facts["unread"] as? [String: Any] ?? [:]).keys.sorted()
        #expect(names.contains("Part") && names.contains("Deep"))
        #expect(reading.samples("stepCount").count == 2)
        let noted = reading.samples("stepCount").compactMap { $0.facts["unread"] as? [String: Any] }
        #expect((noted.first?["Note"] as? [String: Any])?["text"] as? String == "n")
    }

    @Test func `A first summary with only zeros is a placeholder, and of several summaries of a day the last counts`()
        throws
    {
        let zeros =
            "activeEnergyBurned=\"0\" activeEnergyBurnedUnit=\"kcal\" appleExerciseTime=\"0\" appleExerciseTimeGoal=\"30\""
        let reading = try Reading(
            of: """
                 <ActivitySummary dateComponents="1969-12-30" \(zeros)/>
                 <ActivitySummary dateComponents="2026-02-10" activeEnergyBurned="1" activeEnergyBurnedUnit="kilocalories"/>
                 <ActivitySummary dateComponents="2026-02-10" activeEnergyBurned="2" activeEnergyBurnedUnit="kcal"/>
                 <ActivitySummary dateComponents="2026-02-11" \(zeros)/>
                """)
        let days = reading.samples("activitySummary")
        #expect(days.compactMap(\.activitySummary).map { $0.activeEnergyBurned?.value } == [2, 0])
        #expect(places(.placeholderDay, reading).map(\.date) == ["1969-12-30"])
        #expect(places(.repeatedDay, reading).map(\.date) == ["2026-02-10"])
    }

    // MARK: - Files

    @Test func `Points of a route without a time are reported with their file and number`() async throws {
        let scratch = try TemporaryFolder()
        try scratch.write(
            export(
                """
                 <Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="W" startDate="2026-02-10 18:00:00 +0100" endDate="2026-02-10 18:30:00 +0100">
                  <WorkoutRoute sourceName="W" startDate="2026-02-10 18:00:00 +0100" endDate="2026-02-10 18:30:00 +0100"><FileReference path="/workout-routes/r.gpx"/></WorkoutRoute>
                 </Workout>
                """), to: "export.xml")
        let points = (0..<5).map {
            "<trkpt lon=\"8\" lat=\"48\"><ele>1</ele>\($0 < 3 ? "<time>2026-02-10T17:0\($0):00Z</time>" : $0 == 3 ? "<time>noon</time>" : "")</trkpt>"
        }
        try scratch.write("<gpx><trk><trkseg>\(points.joined())</trkseg></trk></gpx>", to: "workout-routes/r.gpx")
        let reading = try Reading(scratch.path)
        #expect(reading.samples("workoutRoute").compactMap(\.route).map(\.count) == [3])
        let place = try #require(places(.lostPoint, reading).first)
        #expect(place.file == "workout-routes/r.gpx" && place.count == 2 && place.reason?.contains("noon") == true)
        #expect(reading.account.lost == 2)
    }

    @Test(arguments: [
        ("2026-02-10 오전 6:31:00 +0900", true), ("2026-02-10 6:31:00 AM +0100", true), ("10.02.26 06:31", false),
    ])
    func `An electrocardiogram with a time in any language is read, and one without is reported with its file`(
        _ time: String, _ isRead: Bool
    ) throws {
        let scratch = try TemporaryFolder()
        try scratch.write(export(record()), to: "export.xml")
        try scratch.write(
            "Name,A\nDate of Birth,x\nRecorded Date,\(time)\nClassification,c\nSymptoms,\nSoftware Version,1\nDevice,W\n"
                + "Sample Rate,512 Hz\n\nLead,I\nUnit,µV\n\n1.5\n2.5\nnoise\n", to: "electrocardiograms/e.csv")
        let reading = try Reading(scratch.path)
        #expect(reading.samples("electrocardiogram").count == (isRead ? 1 : 0))
        if isRead {
            #expect(places(.lostLine, reading).first?.reason == "first at line 15")
        } else {
            let place = try #require(places(.damagedFile, reading).first)
            #expect(place.file == "electrocardiograms/e.csv" && place.date == time)
        }
        #expect(reading.account.lost == 1)
    }

    @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian], [true, false])
    func `UTF-16 is read with and without a mark at its beginning`(_ encoding: String.Encoding, _ hasMark: Bool) throws
    {
        let scratch = try TemporaryFolder()
        let text = export((0..<3_000).map { record(source: "Ännas 🏃 Uhr", value: "\($0)") }.joined())
        var bytes = Array(try #require(text.data(using: encoding)))
        if hasMark { bytes = (encoding == .utf16LittleEndian ? [0xFF, 0xFE] : [0xFE, 0xFF]) + bytes }
        let reading = try Reading(try scratch.write(bytes, to: "export.xml"))
        #expect(reading.samples.count == 3_000 && Set(reading.samples.map(\.source.device)) == ["Ännas 🏃 Uhr"])
        #expect(reading.account.isComplete && reading.account.oddities.isEmpty)
        let marked = try Reading(try scratch.write([0xEF, 0xBB, 0xBF] + Array(text.utf8), to: "utf8.xml"))
        #expect(marked.samples.map(\.key) == reading.samples.map(\.key))
    }

    // MARK: - Files that are no export

    @Test func `A zip with two exports is refused, because their owners may differ`() async throws {
        let scratch = try TemporaryFolder()
        try scratch.write(export(record()), to: "a.xml")
        let path = try await scratch.zip("zip.write('a.xml', 'anna/export.xml')\nzip.write('a.xml', 'ben/export.xml')")
        let error = #expect(throws: ExportError.self) { try ExportPackage(path) }
        #expect(error?.message.contains("2 exports in it: anna/export.xml, ben/export.xml") == true)
        try scratch.write(export(record()), to: "two/a.xml")
        try scratch.write(export(record()), to: "two/b.xml")
        #expect(throws: ExportError.self) { try ExportPackage(scratch.path + "/two") }
    }

    @Test func `A zip in a zip and an encrypted zip are named in the error`() async throws {
        let scratch = try TemporaryFolder()
        try scratch.write(export(record()), to: "a.xml")
        _ = try await scratch.zip("zip.write('a.xml', 'apple_health_export/export.xml')", as: "inner.zip")
        let nested = try await scratch.zip("zip.write('inner.zip', 'Export/export.zip')", as: "outer.zip")
        #expect(
            #expect(throws: ExportError.self) { try ExportPackage(nested) }?.message.contains("Export/export.zip")
                == true)
        // Only the flag in the directory counts, not the bytes.
        let plain = Array(try Data(contentsOf: URL(filePath: scratch.path + "/inner.zip")))
        var locked = plain
        for place in 0..<(plain.count - 4) where Array(plain[place..<(place + 4)]) == [0x50, 0x4B, 1, 2] {
            locked[place + 8] |= 1
        }
        let path = try scratch.write(locked, to: "locked.zip")
        let error = #expect(throws: ExportError.self) { try ExportPackage(path) }
        #expect(error?.message.contains("export.xml is encrypted (password)") == true)
    }

    @Test(arguments: [
        (
            "Date,\"Weight (kg)\",\"Fat mass (kg)\",\"Bone mass (kg)\",\"Muscle mass (kg)\",\"Hydration (kg)\",Comments\n",
            "Withings"
        ),
        (
            "Date,\"Gewicht (kg)\",\"Fettmasse (kg)\",\"Knochenmasse (kg)\",\"Muskelmasse (kg)\",\"Wasseranteil (kg)\",Kommentare\n",
            "Withings"
        ),
        ("[{\"logId\": 1, \"weight\": 177.2}]", "Fitbit"), ("timestamp,weight grams,data source\n", "Fitbit"),
        ("#Version: 6\n#Units: kg\n", "Libra"),
        ("kind,type,person,value,unit,raw,start,end,date,zone,plugin\n", "hub export all.jsonl"),
        ("{\"data\": {\"metrics\": []}}", "/ingest/hae"),
        ("\u{FEFF}com.samsung.health.weight,6,4\n", "Samsung Health"),
        ("\"biceps\",\"bone\",\"dateTime\",\"weight\"\n", "openScale"), ("date,time,weight,body_fat\n", "openScale"),
        ("[{\"metaData\": {\"calendarDate\": \"x\"}, \"weight\": {}}]", "Garmin"),
        ("{\"Data Points\": []}", "Google Fit"),
        ("Time of Measurement,Weight(kg),BMI\n", "Renpho"), ("Date,Time,Systolic (mmHg),Diastolic (mmHg)\n", "Omron"),
        ("SQLite format 3\u{0} application_info_table", "Health Connect"),
    ]) func `A file of another app is refused with the name of the app`(_ text: String, _ name: String) throws {
        let scratch = try TemporaryFolder()
        let path = try scratch.write(text, to: "file")
        let error = #expect(throws: ExportError.self) { try ExportPackage(path) }
        #expect(error?.message.contains(name) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("this is a") == true)
    }

    @Test(arguments: [
        ("health_connect_export.db", "Health Connect"),
        ("Samsung Health/com.samsung.health.weight.1.csv", "Samsung Health"),
        ("Takeout/Fitbit/Global Export Data/steps-1.json", "Fitbit"),
        ("DI_CONNECT/DI-Connect-Wellness/a.json", "Garmin"),
        ("weight.csv", "Withings"), ("Takeout/Fit/All Data/a.json", "Google Fit"),
        ("database/Gadgetbridge", "Gadgetbridge"),
    ]) func `A zip of another app is refused with the name of the app`(_ entry: String, _ name: String) async throws {
        let scratch = try TemporaryFolder()
        let path = try await scratch.zip("zip.writestr('\(entry)', 'x')")
        let error = #expect(throws: ExportError.self) { try ExportPackage(path) }
        #expect(error?.message.contains("this is a \(name)") == true, "\(error?.message ?? "")")
    }

    // MARK: - The sum

    @Test func `The numbers of stored, kept, excluded and reported elements add up to all elements`() throws {
        let types = [
            "HKQuantityTypeIdentifierStepCount", "HKQuantityTypeIdentifierBodyFatPercentage",
            "HKCategoryTypeIdentifierMenstrualFlow", "HKQuantityTypeIdentifierNovelty",
            "HKCategoryTypeIdentifierSleepAnalysis",
            "Odd Name!",
        ]
        let values = [nil, "1", "0.2", "97", "x", "25 %", "HKCategoryValueSleepAnalysisAsleepREM", "1e400", ""]
        let units = [nil, "count", "%", "Schritte", "bpm", "nonsense"]
        let times = [
            "2026-02-10 08:00:00 +0100", "2026-02-10T08:00:00.5Z", "20150616071820-0700", "2026-02-10 08:00:00",
            "0001-01-01 00:00:00 +0000",
            "2569-02-10 08:00:00 +0700", "2026-02-10 오전 8:00:00 +0900", "",
        ]
        var (elements, count) = ("", 0)
        for type in types {
            for value in values {
                for unit in units {
                    for time in times {
                        let end = count % 5 == 0 ? "2026-02-10 01:00:00 +0100" : time
                        elements += record(type, source: "e\(count)", unit: unit, value: value, start: time, end: end)
                        count += 1
                    }
                }
            }
        }
        var options = ExportOptions()
        for sources in [nil, Set((0..<count).filter { $0 % 3 > 0 }.map { "e\($0)" })] {
            options.filter = ExportFilter(sources: sources)
            let reading = try Reading(of: elements, options)
            let stored = Set(reading.samples.compactMap(\.source.device))
            #expect(
                reading.samples.count == stored.count && reading.rejections.isEmpty, "\(reading.rejections.prefix(3))")
            #expect(reading.account.elements["Record"] == count)
            #expect(stored.count + reading.account.lost + reading.account.filtered == count)
            // Each value that does not fit its type is in the report.
            let kept = reading.account.oddities.filter { $0.key.effect == .kept }.reduce(0) { $0 + $1.value.count }
            let raw = reading.samples.count { $0.type.rawValue == "x.apple.exportElement" }
            #expect(kept >= raw && raw > 0 && reading.account.lost > 0)
        }
    }
}
