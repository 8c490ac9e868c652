import Samples
import Testing

@testable import HealthText

/// The figures of a workout.
@Suite struct WorkoutFiguresTests {
    private func workout(_ parts: WorkoutParts?, minutes: Int64 = 30) throws -> Sample {
        let start = Timestamp(microseconds: 1_700_000_000_000_000, offsetMinutes: 60)
        var sample = Sample(
            source: Source(plugin: "watch"), key: try #require(RecordKey("run")), type: try TypeID("workout"),
            value: .workout(activity: "running", raw: 37), start: start,
            end: Timestamp(microseconds: start.microseconds + minutes * 60_000_000, offsetMinutes: 60))
        sample.workout = parts
        return sample
    }

    private func words(_ parts: WorkoutParts?, minutes: Int64 = 30) throws -> String? {
        WorkoutFigures(try workout(parts, minutes: minutes))?.words(DisplayPreferences())
    }

    @Test func `the time excludes pauses, and energy and distance are the source's totals`() throws {
        #expect(try words(nil) == "30 min")
        #expect(try words(WorkoutParts(duration: 1_500)) == "25 min")
        #expect(try words(WorkoutParts(duration: 3_725), minutes: 90) == "1 h 2 min 5 s")
        let start = Timestamp(microseconds: 1_700_000_000_000_000 + 60_000_000, offsetMinutes: 60)
        let pause = WorkoutParts.Event(.pause, at: start)
        let resume = WorkoutParts.Event(
            .resume, at: Timestamp(microseconds: start.microseconds + 120_000_000, offsetMinutes: 60))
        let totals = [
            WorkoutParts.Total(.activeEnergyBurned, 1_255.2, unit: "kJ"),
            WorkoutParts.Total(try TypeID("distanceWalkingRunning"), 5_000, unit: "m"),
            WorkoutParts.Total(try TypeID("heartRate"), 131, unit: "count/min", statistic: .average),
        ]
        let text = try words(WorkoutParts(totals: totals, events: [pause, resume]))
        #expect(text == "28 min, 1,255 kJ, 5 km")
    }

    @Test func `the totals of several activities are added up by type`() throws {
        let start = Timestamp(microseconds: 1_700_000_000_000_000, offsetMinutes: 60)
        func part(_ name: String, _ type: String, _ meters: Double) throws -> WorkoutParts.Activity {
            WorkoutParts.Activity(
                try #require(WorkoutActivity.activity(named: name)), from: start,
                totals: [
                    WorkoutParts.Total(.activeEnergyBurned, 100, unit: "kcal"),
                    WorkoutParts.Total(try TypeID(type), meters, unit: "m"),
                ])
        }
        let parts = WorkoutParts(activities: [
            try part("swimming", "distanceSwimming", 500), try part("running", "distanceWalkingRunning", 5_000),
        ])
        let text = try words(parts)
        #expect(text?.contains("200 kcal") == true && text?.contains(" + ") == true, "\(text ?? "")")
    }

    @Test func `a record that is not a workout has no such figures`() throws {
        let start = Timestamp(microseconds: 0, offsetMinutes: 0)
        let weight = Sample(
            source: Source(plugin: "scale"), key: try #require(RecordKey("a")), type: .weight,
            value: .quantity(70, unit: "kg"), start: start, end: start)
        #expect(WorkoutFigures(weight) == nil && !WorkoutFigures.needsMembers(weight))
    }
}
