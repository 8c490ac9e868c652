import AppleExport
import Foundation
import Samples
import Testing

/// Content without a place in the model is kept as it is written, and content beyond the limits is counted.
@Suite(.timeLimit(.minutes(1))) struct BoundsTests {
    private static let head =
        "<Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" sourceName=\"W\" startDate=\"2026-02-10 18:05:00 +0100\" endDate=\"2026-02-10 18:37:00 +0100\""

    private func read(_ elements: String) throws -> Reading {
        let reading = try Reading(of: elements)
        #expect(reading.rejections.isEmpty, "\(reading.rejections.prefix(3))")
        return reading
    }

    private func unread(_ facts: [String: Any]?) -> [String: Any] { facts?["unread"] as? [String: Any] ?? [:] }

    @Test func `Types beyond the number of any real export are stored, and counted together`() throws {
        let reading = try read(
            (0..<2_500).map { record("HKQuantityTypeIdentifierMade\($0)", unit: "count", value: "1") }.joined())
        #expect(reading.samples.count == 2_500 && Set(reading.samples.map(\.type)).count == 2_500)
        #expect(reading.account.types.count == 2_001 && reading.account.records == 2_500)
        #expect(reading.account.types.last?.tally.count == 500)
    }

    @Test func `Metadata is kept as far as a record has room, and the rest is counted`() throws {
        let entries = (0..<5_000).map { "<MetadataEntry key=\"key\($0)\" value=\"some text\"/>" }.joined()
        let reading = try read(record(children: entries))
        let sample = try #require(reading.samples.first)
        let kept = sample.facts.keys.filter { $0.hasPrefix("key") }.count
        #expect(kept > 500 && reading.count(.leftOut) == 5_000 - kept)
    }

    @Test func `Events beyond the number of any real workout are counted`() throws {
        let events = String(
            repeating: "<WorkoutEvent type=\"HKWorkoutEventTypeLap\" date=\"2026-02-10 18:06:00 +0100\"/>",
            count: 10_300)
        let reading = try read("\(Self.head)>\(events)</Workout>")
        let inside = try #require(reading.samples("workout").first?.workout?.events.count)
        #expect(inside + reading.samples("x.apple.exportElement").count == 10_000)
        #expect(reading.count(.leftOut) == 300)
    }

    @Test func `Unknown attributes and repeated parts of a workout are kept`() throws {
        let reading = try read(
            """
            \(Self.head) goal="300" goalUnit="kcal">
             <WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned" sum="300" unit="kcal"/>
             <WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned" sum="300" unit="kcal"/>
             <WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned" sum="301" unit="kcal"/>
             <WorkoutEvent type="HKWorkoutEventTypeSegment" date="2026-02-10 18:06:00 +0100" lap="4">
              <MetadataEntry key="HKSwimmingStrokeStyle" value="odd"/><MetadataEntry key="HKTimeZone" value="Asia/Tokyo"/>
             </WorkoutEvent>
             <WorkoutEvent type="HKWorkoutEventTypeNew" date="2026-02-10 18:06:00 +0100"/>
             <WorkoutEvent type="HKWorkoutEventTypeNew" date="2026-02-10 18:07:00 +0100"/>
             <WorkoutActivity uuid="u" startDate="2026-02-10 18:05:00 +0100" endDate="2026-02-10 18:37:00 +0100" leg="first"/>
            </Workout>
            """)
        let sample = try #require(reading.samples("workout").first)
        let workout = try #require(sample.workout)
        let kept = unread(sample.facts)
        #expect(kept["goal"] as? String == "300" && kept["goalUnit"] as? String == "kcal")
        #expect(kept["workoutActivityType"] == nil && kept["duration"] == nil)
        #expect(workout.totals.map(\.value) == [300])
        let second = kept["WorkoutStatistics HKQuantityTypeIdentifierActiveEnergyBurned"] as? [String: Any]
        #expect(second?["sum"] as? String == "301")
        #expect(kept.keys.filter { $0.hasPrefix("WorkoutEvent HKWorkoutEventTypeNew") }.count == 2)
        let text = reading.groups.joined().joined()
        #expect(text.contains(#""timeZone":"Asia/Tokyo""#) && text.contains(#""lap":"4""#))
        #expect(text.contains(#""HKSwimmingStrokeStyle":"odd""#) && text.contains(#""leg":"first""#))
    }

    @Test func `Unknown attributes of an audiogram and a prescription are kept`() throws {
        let reading = try read(
            """
             <Audiogram type="HKDataTypeIdentifierAudiogram" sourceName="a" startDate="2026-02-10 18:05:00 +0100" endDate="2026-02-10 18:05:00 +0100">
              <SensitivityPoint frequencyValue="1000" frequencyUnit="Hz" leftEarValue="15" leftEarUnit="dBHL" masked="yes"/>
             </Audiogram>
             <VisionPrescription type="glasses" dateIssued="2026-02-10 18:05:00 +0100" clinic="west">
              <RightEye sphere="-1.25" sphereUnit="D"/>
             </VisionPrescription>
            """)
        let points = reading.samples("audiogram").first?.facts["points"] as? [[String: Any]]
        #expect(points?.first?["masked"] as? String == "yes" && points?.first?["frequencyUnit"] == nil)
        let prescription = try #require(reading.samples("visionPrescription").first)
        #expect(unread(prescription.facts)["clinic"] as? String == "west")
        #expect(prescription.facts["prescriptionType"] as? String == "glasses")
    }
}
