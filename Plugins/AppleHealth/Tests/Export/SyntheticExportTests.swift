import AppleExport
import Foundation
import Samples
import Testing

/// An export with all kinds of elements, compared with a result that was worked out by hand.
@Suite struct SyntheticExportTests {
    private let reading: Reading
    private let expected: [String: Any]

    init() throws {
        reading = try Reading(try fixture("synthetic.xml"), ExportOptions(dayZone: "Europe/Berlin"))
        let data = try Data(contentsOf: URL(filePath: try fixture("synthetic.expected.json")))
        expected = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test func `The hub accepts every record of the export`() {
        #expect(reading.rejections.isEmpty, "\(reading.rejections)")
        #expect(reading.account.isComplete)
        #expect(reading.account.version == 13)
        #expect(reading.account.locale == "de_DE")
    }

    @Test func `Elements are counted as they are in the file`() throws {
        let elements = try #require(expected["elements"] as? [String: Int])
        let found = reading.account.elements
        #expect(found["Record"] == elements["topLevelRecords"])
        #expect(reading.account.nestedRecords == elements["recordsInsideCorrelationOrWorkout"])
        for (name, key) in [
            ("Correlation", "correlations"), ("Workout", "workouts"), ("ActivitySummary", "activitySummaries"),
            ("ClinicalRecord", "clinicalRecords"), ("Audiogram", "audiograms"),
            ("VisionPrescription", "visionPrescriptions"),
        ] {
            #expect(found[name] == elements[key], "\(name)")
        }
    }

    @Test func `Each sample is there once, whether it is at the top, in a correlation, or in both`() throws {
        let byType = try #require(expected["uniqueByType"] as? [String: Int])
        let unique = Dictionary(grouping: reading.unique, by: \.type.rawValue).mapValues(\.count)
        for (type, count) in byType { #expect(unique[type] == count, "\(type)") }
        #expect(byType.values.reduce(0, +) == expected["uniqueSamples"] as? Int)
        // Members of correlations were given once; the rest of the difference is exact repeats.
        #expect(reading.account.repeatedMembers == 4)
        #expect(reading.samples.count == reading.unique.count + 1, "the weight twice")
    }

    @Test func `Unknown types are kept under their names, with the value as it is written`() throws {
        #expect(reading.account.unknownTypes.sorted() == expected["unknownTypes"] as? [String])
        #expect(reading.count(.unreadValue) == expected["unparseableValues"] as? Int)
        let unknown = try #require(reading.samples("HKQuantityTypeIdentifierNotYetInvented").first)
        #expect(unknown.value == .other("1,5"))
        #expect(unknown.facts["unit"] as? String == "zork")
        #expect(reading.samples("sleepDurationGoal").first?.value == .other("8"))
    }

    @Test func `Values are in their units as they are written, and times are instants`() throws {
        for entry in try #require(expected["canonical"] as? [[String: Any]]) {
            let type = try #require(entry["type"] as? String)
            let value = try #require(entry["value"] as? Double)
            let found = reading.samples(type).filter { abs(($0.canonical ?? .nan) - value) <= abs(value) * 1e-9 }
            let start = entry["start"] as? String
            let sample = try #require(
                found.first { start == nil || $0.start.text == start }, "\(type) \(value) \(start ?? "")")
            #expect(sample.start.offsetMinutes == nil, "the printed offset is that of the export")
            if let zone = entry["timeZone"] as? String { #expect(sample.zone == zone) }
            if let byHand = entry["wasUserEntered"] as? Bool {
                #expect(sample.facts["wasUserEntered"] as? Bool == byHand)
            }
            if let context = entry["motionContext"] as? String {
                #expect(sample.facts["heartRateMotionContext"] as? String == context)
            }
            if let local = entry["localTime"] as? String {
                #expect(try Timestamp(parsing: local).microseconds == sample.start.microseconds)
            }
        }
        let exportDate = try #require(reading.account.exportDate)
        #expect(Timestamp(microseconds: exportDate * 1_000_000).text == expected["exportDate"] as? String)
    }

    @Test func `Facts about the person become characteristics that begin at their birth`() throws {
        let facts = try #require(expected["characteristics"] as? [String: String])
        for (type, value) in facts {
            let sample = try #require(reading.samples(type).first, "\(type)")
            guard case .characteristic(let text, _) = sample.value else {
                Issue.record("\(type) is not a characteristic")
                continue
            }
            #expect(text == value)
            #expect(sample.key.text == type)
            #expect(sample.start.text == "1988-02-29T00:00:00Z")
        }
    }

    @Test func `A blood pressure is one group of three, and its members are not doubled`() throws {
        for entry in try #require(expected["correlations"] as? [[String: Any]]) {
            guard let start = entry["start"] as? String, entry["type"] as? String == "bloodPressure" else { continue }
            let correlation = try #require(reading.samples("bloodPressure").first { $0.start.text == start })
            let members = reading.samples.filter { $0.group == correlation.group && $0.type != correlation.type }
            #expect(members.count == 2)
            #expect(members.first { $0.type == .bloodPressureSystolic }?.canonical == entry["systolic"] as? Double)
            #expect(members.first { $0.type == .bloodPressureDiastolic }?.canonical == entry["diastolic"] as? Double)
            #expect(reading.groups.contains { $0.count == 3 && $0[0].contains(correlation.key.text) })
        }
        let food = try #require(reading.samples("food").first)
        #expect(food.facts["foodType"] as? String == "Müsli & Söhne 🥣")
        #expect(reading.samples.filter { $0.group == food.group }.count == 3)
    }

    @Test func `A workout has its duration without pauses, its totals, its events and its metadata`() throws {
        let running = try #require(
            reading.samples("workout").first { $0.value == .workout(activity: "running", raw: 37) })
        let parts = try #require(running.workout)
        #expect(parts.duration == 1_890)
        #expect(running.end.text == "2026-02-10T17:37:00Z")
        #expect(parts.totals.first { $0.type == .distanceWalkingRunning }?.value == 5.21)
        #expect(parts.totals.first { $0.type == .activeEnergyBurned }?.unit == "kJ")
        #expect(parts.totals.filter { $0.type == .heartRate }.count == 3)
        #expect(parts.events.map { "\($0.kind)" } == ["pause", "resume", "segment"])
        #expect(parts.events[2].end.text == "2026-02-10T17:11:12Z")
        #expect(parts.activities.count == 1)
        #expect(parts.activities[0].totals.count == 3)
        let humidity = try #require(running.facts["weatherHumidity"] as? [String: Any])
        #expect(humidity["value"] as? Double == 0.81)
        let ascended = try #require(running.facts["elevationAscended"] as? [String: Any])
        #expect(ascended["value"] as? Double == 4_200 && ascended["unit"] as? String == "cm")
        let zones = try #require(running.facts["zones"] as? [[String: Any]])
        #expect((zones[0]["zones"] as? [Any])?.count == 3)
        #expect(reading.samples("estimatedWorkoutEffortScore").first?.group == running.group)
        let swimming = try #require(
            reading.samples("workout").first { $0.value == .workout(activity: "swimming", raw: 46) })
        #expect(swimming.workout?.duration == 1_200)
        #expect(swimming.workout?.totals.map(\.type).sorted() == [.activeEnergyBurned, .distanceSwimming])
        #expect(reading.count(.missingFile) == 2, "neither its route nor the clinical document is beside the file")
    }

    @Test func `The activity summary of a day is that day of the zone, and of two for one day the last counts`() throws
    {
        let summaries = reading.samples("activitySummary")
        #expect(summaries.map(\.key.text) == ["2026-02-10", "2026-02-11"])
        #expect(summaries[0].start.text == "2026-02-10T00:00:00+01:00")
        #expect(summaries[0].activitySummary?.activeEnergyBurned?.goal == 2_300)
        #expect(summaries[1].activitySummary?.appleStandHours?.value == 0)
    }

    @Test func `A device is the same with every pointer that is printed in it`() throws {
        let devices = Set(reading.samples.compactMap { ($0.facts["device"] as? [String: String]) })
        #expect(devices.count == 1)
        let device = try #require(devices.first)
        #expect(device["name"] == "Apple Watch" && device["hardwareVersion"] == "Watch6,2")
        #expect(device["softwareVersion"] == "9.4" && device["creationDate"] == "2022-10-01T06:00:00Z")
    }

    @Test func `Beats in local time are instants, whatever offset the record is printed with`() throws {
        let beats = reading.samples("heartRateVariabilitySDNN").flatMap { $0.facts["beats"] as? [[String: Any]] ?? [] }
        #expect(beats.count == 4)
        #expect(beats.map { $0["time"] as? String }.contains("2025-07-01T05:00:01.20Z"))
        #expect(beats.map { $0["bpm"] as? Double }.contains(58))
    }

    @Test func `A night is a sample for each stage of sleep`() throws {
        let night = try #require(expected["sleep_2026-02-10"] as? [String: Int])
        var seconds: [String: Int] = [:]
        for sample in reading.samples("sleepAnalysis") {
            guard case .category(let name, _) = sample.value else { continue }
            seconds[name + "_s", default: 0] += Int((sample.end.microseconds - sample.start.microseconds) / 1_000_000)
        }
        #expect(seconds == night)
    }

    @Test func `An audiogram, a prescription and a clinical document are kept with all their content`() throws {
        let audiogram = try #require(reading.samples("audiogram").first)
        let points = try #require(audiogram.facts["points"] as? [[String: Any]])
        #expect((points[0]["leftEar"] as? [String: Any])?["value"] as? Double == 15)
        let prescription = try #require(reading.samples("visionPrescription").first)
        let eye = try #require(prescription.facts["rightEye"] as? [String: Any])
        #expect((eye["sphere"] as? [String: Any])?["value"] as? Double == -1.25)
        #expect(prescription.facts["expirationDate"] as? String == "2028-01-14T23:00:00Z")
        let document = try #require(reading.samples("x.apple.clinicalDocument").first)
        #expect(document.facts["identifier"] as? String == "obs-1")
    }

    @Test func `After a resume from any offset the rest follows, and nothing is missing`() throws {
        let options = ExportOptions(dayZone: "Europe/Berlin")
        let reader = try ExportReader(try fixture("synthetic.xml"), options: options, scratch: NSTemporaryDirectory())
        var given: Set<String> = []
        let all = Set(reading.groups.joined())
        while let batch = try reader.next(4) {
            given.formUnion(batch.groups.joined().map { String(decoding: $0, as: UTF8.self) })
            guard batch.offset < .max else { continue }
            let rest = try Reading(try fixture("synthetic.xml"), options, from: batch.offset)
            #expect(given.union(rest.groups.joined()) == all, "from byte \(batch.offset)")
            #expect(rest.groups.joined().count < reading.groups.joined().count)
        }
        #expect(given == all)
    }

    @Test func `The records and their order do not depend on the size of the batches`() throws {
        let options = ExportOptions(dayZone: "Europe/Berlin")
        for batch in [1, 3, 1_000] {
            let other = try Reading(try fixture("synthetic.xml"), options, batch: batch)
            #expect(other.groups == reading.groups)
        }
    }
}
