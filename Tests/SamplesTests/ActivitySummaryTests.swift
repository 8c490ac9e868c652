import JSON
import Testing

@testable import Samples

/// The typed values of an activity summary (Docs/Samples.md, Activity summaries).
@Suite struct ActivitySummaryTests {
    private func sample(
        _ part: String?, key: String = "2024-03-15", start: String = "2024-03-15T00:00:00+01:00",
        end: String = "2024-03-16T00:00:00+01:00", zone: String? = nil
    ) throws -> Sample {
        Sample(
            source: Source(plugin: "watch"), key: try #require(RecordKey(key)), type: .activitySummary,
            value: .other(nil), start: try Timestamp(parsing: start), end: try Timestamp(parsing: end), zone: zone,
            extra: part.flatMap { JSONObject(#"{"activitySummary":\#($0)}"#) })
    }

    private func fault(_ sample: Sample) -> String? {
        do throws(PartError) { try sample.checkParts(.standard) } catch { return "\(error.kind) \(error)" }
        return nil
    }

    @Test func `a summary round-trips, and gives the fraction of each goal that is reached`() throws {
        var day = try sample(nil)
        day.extra = JSONObject(#"{"mine":1}"#)
        let summary = ActivitySummary(
            activeEnergyBurned: .init(412.5, goal: 500, unit: "kcal"),
            appleExerciseTime: .init(31, goal: 30, unit: "min"), appleStandHours: .init(0, goal: 0, unit: "count"))
        day.activitySummary = summary
        #expect(day.activitySummary == summary && day.activitySummaryDate == LocalDate("2024-03-15"))
        #expect(
            day.extra?.text
                == #"{"mine":1,"activitySummary":{"activeEnergyBurned":{"value":412.5,"goal":500,"unit":"kcal"},"appleExerciseTime":{"value":31,"goal":30,"unit":"min"},"appleStandHours":{"value":0,"goal":0,"unit":"count"}}}"#
        )
        #expect(fault(day) == nil)
        #expect(summary.activeEnergyBurned?.partOfGoal == 0.825 && summary.appleMoveTime == nil)
        #expect(summary.appleStandHours?.partOfGoal == nil, "without a goal there is no share of it")
        #expect(ActivitySummary.Figure(3, unit: "count").partOfGoal == nil)
        day.activitySummary = nil
        #expect(day.extra?.text == #"{"mine":1}"#)
    }

    @Test(arguments: [
        (#"{}"#, "value activitySummary: expected one of activeEnergyBurned, appleMoveTime"),
        (#"[]"#, "value activitySummary: expected an object of activeEnergyBurned"),
        (#"{"appleStandTime":{"value":1,"unit":"min"}}"#, "value activitySummary: expected no members but"),
        (
            #"{"activeEnergyBurned":{"goal":500,"unit":"kcal"}}"#,
            "value activitySummary.activeEnergyBurned.value: missing"
        ),
        (#"{"activeEnergyBurned":{"value":5}}"#, "value activitySummary.activeEnergyBurned.unit: missing"),
        (
            #"{"activeEnergyBurned":{"value":-1,"unit":"kcal"}}"#,
            "value activitySummary.activeEnergyBurned.value: expected a number from 0"
        ),
        (#"{"activeEnergyBurned":{"value":1,"unit":"kg"}}"#, "unit activitySummary.activeEnergyBurned.unit: "),
        (
            #"{"appleExerciseTime":{"value":26,"unit":"hr"}}"#,
            "value activitySummary.appleExerciseTime.value: expected at most 1500 min"
        ),
        (
            #"{"appleStandHours":{"value":1,"goal":26,"unit":"count"}}"#,
            "value activitySummary.appleStandHours.goal: expected at most 25 count"
        ),
        (#"{"appleStandHours":{"value":1,"unit":"hr"}}"#, "unit activitySummary.appleStandHours.unit: "),
    ])
    func `an invalid summary is rejected with the path of the faulty member`(_ part: String, _ reason: String) throws {
        let found = try #require(fault(try sample(part)))
        #expect(found.hasPrefix(reason), "\(found)")
    }

    @Test func `a summary's key is the local date of its start, and it must have an offset or zone`() throws {
        let part = #"{"appleStandHours":{"value":11,"unit":"count"}}"#
        #expect(fault(try sample(nil)) == "value activitySummary: missing")
        #expect(fault(try sample(part)) == nil)
        #expect(fault(try sample(part, key: "2024-03-16"))?.hasPrefix("key key: of an activitySummary") == true)
        #expect(fault(try sample(part, key: "20240315"))?.hasSuffix("its local clock: 2024-03-15") == true)
        let (night, noon) = ("2024-03-14T23:00:00Z", "2024-03-15T23:00:00Z")
        #expect(
            fault(try sample(part, start: night, end: noon))?.hasPrefix("time start: expected the local clock") == true)
        #expect(fault(try sample(part, start: night, end: noon, zone: "Europe/Berlin")) == nil)
        #expect(
            fault(try sample(part, start: night, end: noon, zone: "Europe/Nowhere"))?.hasPrefix("time zone") == true)
        let (first, next) = ("2024-10-27T00:00:00+02:00", "2024-10-28T00:00:00+01:00")
        #expect(fault(try sample(part, key: "2024-10-27", start: first, end: next, zone: "Europe/Berlin")) == nil)
        #expect(fault(try sample(part, end: "2024-03-16T01:00:02+01:00"))?.hasPrefix("time end") == true)
    }
}
