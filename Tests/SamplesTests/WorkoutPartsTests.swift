import JSON
import Testing

@testable import Samples

/// The typed parts of workouts and routes (Docs/Samples.md, Workouts).
@Suite struct WorkoutPartsTests {
    private func time(_ minute: Int, _ second: Int = 0) throws -> Timestamp {
        let digits = [minute, second].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return try Timestamp(parsing: "2024-03-16T07:\(digits[0]):\(digits[1])+01:00")
    }

    private func parts(_ json: String) throws -> WorkoutParts {
        try WorkoutParts(try #require(JSONTree(Array(json.utf8))), seconds: 1_800, .standard)
    }

    @Test func `a workout round-trips with its eight kinds of events`() throws {
        var sample = Sample(
            source: Source(plugin: "watch"), key: try #require(RecordKey("k")), type: .workout,
            value: .workout(activity: "swimBikeRun", raw: 82), start: try time(0), end: try time(30),
            extra: JSONObject(#"{"mine":1}"#))
        let events = try WorkoutParts.Event.Kind.allCases.map {
            WorkoutParts.Event(
                $0, at: try time($0.rawValue), until: try time($0.rawValue, 30),
                metadata: JSONObject(#"{"swimmingStrokeStyle":2}"#))
        }
        let swimming = try #require(WorkoutActivity.activity(named: "swimming"))
        let parts = WorkoutParts(
            duration: 1_700.25,
            totals: [
                WorkoutParts.Total(.activeEnergyBurned, 300, unit: "kcal"),
                WorkoutParts.Total(.heartRate, 131.5, unit: "count/min", statistic: .average),
            ],
            events: events,
            activities: [
                WorkoutParts.Activity(
                    swimming, from: try time(0), to: try time(10), duration: 590,
                    totals: [WorkoutParts.Total(.distanceSwimming, 0.5, unit: "km")], events: [events[2]],
                    metadata: JSONObject(#"{"WOIntervalStepKeyPath":"0.1"}"#))
            ])
        sample.workout = parts
        #expect(sample.workout == parts)
        #expect(sample.workoutDuration == 1_700.25)
        #expect(sample.extra?.text.hasPrefix(#"{"mine":1,"workout":{"duration":1700.25,"totals":[{"#) == true)
        try sample.checkParts(.standard)
        sample.workout = nil
        #expect(sample.extra?.text == #"{"mine":1}"#)
        #expect(sample.workoutDuration == 1_800)
    }

    @Test func `a workout's duration excludes overlapping pauses and those outside its time`() throws {
        func duration(_ events: [(WorkoutParts.Event.Kind, Int)]) throws -> Double {
            WorkoutParts(events: try events.map { WorkoutParts.Event($0, at: try time($1)) })
                .duration(from: try time(10), to: try time(40))
        }
        #expect(try duration([]) == 1_800)
        #expect(try duration([(.pause, 20), (.lap, 21), (.resume, 25)]) == 1_500)
        #expect(try duration([(.resume, 25), (.pause, 20)]) == 1_500, "the order of the events does not matter")
        #expect(try duration([(.pause, 20), (.motionPaused, 22), (.resume, 24), (.motionResumed, 26)]) == 1_440)
        #expect(try duration([(.pause, 35)]) == 1_500, "a pause without a resume lasts until the end")
        #expect(
            try duration([(.pause, 5), (.resume, 15)]) == 1_500, "a pause from before the start counts from the start")
        #expect(try duration([(.pause, 45), (.resume, 50)]) == 1_800)
        #expect(try duration([(.resume, 20), (.pauseOrResumeRequest, 21)]) == 1_800)
    }

    @Test(arguments: [
        (#"{"duration":1802}"#, "workout.duration: expected a number from 0 to 1801, in seconds"),
        (#"{"duration":"1800"}"#, "workout.duration: expected a number"),
        (#"{"evnts":[]}"#, "workout: expected no members but duration, totals, events, activities"),
        (#"{"events":{}}"#, "workout.events: expected an array of at most 1000"),
        (
            #"{"events":[{"type":"lap","start":"2024-03-16T07:00:00Z"},{"type":"rest","start":"2024-03-16T07:00:00Z"}]}"#,
            "workout.events[1].type: expected one of 1 pause, 2 resume"
        ),
        (#"{"events":[{"type":9,"start":"2024-03-16T07:00:00Z"}]}"#, "workout.events[0].type"),
        (#"{"events":[{"type":"lap"}]}"#, "workout.events[0].start: missing"),
        (#"{"events":[{"type":"lap","start":"7:00"}]}"#, "workout.events[0].start: expected RFC 3339"),
        (
            #"{"events":[{"type":"lap","start":"2024-03-16T07:00:01Z","end":"2024-03-16T07:00:00Z"}]}"#,
            "events[0].end: is before"
        ),
        (
            #"{"events":[{"type":"lap","start":"2024-03-16T07:00:00Z","metadata":{"lapLength":25}}]}"#,
            "metadata.lapLength: expected"
        ),
        (#"{"totals":[{"type":"activeEnergyBurned","value":300,"unit":"kg"}]}"#, "workout.totals[0].unit: "),
        (
            #"{"totals":[{"type":"activeEnergyBurned","value":-1,"unit":"kcal"}]}"#,
            "totals[0].value: activeEnergyBurned is"
        ),
        (
            #"{"totals":[{"type":"heartRate","value":131,"unit":"count/min"}]}"#,
            "statistic: of heartRate expected average, minimum, maximum"
        ),
        (#"{"totals":[{"type":"activeEnergyBurned","statistic":"average","value":3,"unit":"kcal"}]}"#, "expected sum"),
        (#"{"totals":[{"type":"sleepAnalysis","value":1,"unit":"count"}]}"#, "expected a quantity type"),
        (
            #"{"totals":[{"type":"stepCount","value":1,"unit":"count"},{"type":"stepCount","statistic":"sum","value":2,"unit":"count"}]}"#,
            "workout.totals[1]: expected each type and statistic once"
        ),
        (
            #"{"activities":[{"activity":"swim","start":"2024-03-16T07:00:00Z"}]}"#,
            "activities[0].activity: expected the name"
        ),
    ])
    func `an invalid part is rejected with the path of the faulty member`(_ json: String, _ reason: String) throws {
        let fault = try #require(throws: PartError.self) { try parts(json) }
        #expect(fault.description.contains(reason), "\(fault)")
    }

    @Test func `kinds and activities are read by number as well as by name`() throws {
        let read = try parts(
            #"{"events":[{"type":3,"start":"2024-03-16T07:00:00Z"}],"activities":[{"activity":46,"start":"2024-03-16T07:00:00Z"}]}"#
        )
        #expect(read.events[0].kind == .lap && read.activities[0].activity.name == "swimming")
    }

    @Test func `a route has points in order of time, with degrees and metres`() throws {
        var sample = Sample(
            source: Source(plugin: "watch"), key: try #require(RecordKey("k")), type: .workoutRoute,
            value: .other(nil), start: try time(0), end: try time(1))
        let points = [
            RoutePoint(try time(0), latitude: 52.52, longitude: 13.405, altitude: 34.5, horizontalAccuracy: 4),
            RoutePoint(try time(1), latitude: -52.5, longitude: -180, verticalAccuracy: 3, speed: 2.8, course: 360),
        ]
        sample.route = points
        #expect(sample.route == points)
        func fault(_ json: String) throws -> String? {
            sample.extra = JSONObject(#"{"route":\#(json)}"#)
            do throws(PartError) { try sample.checkParts(.standard) } catch { return error.description }
            return nil
        }
        let here = #""time":"2024-03-16T07:00:00Z","latitude":52"#
        #expect(try fault("[{\(here)}]") == "route[0].longitude: missing")
        #expect(try fault(#"[{\#(here),"longitude":181}]"#)?.contains("from -180 to 180, in degrees") == true)
        #expect(try fault(#"[{\#(here),"longitude":1,"horizontalAccuracy":-1}]"#)?.contains("from 0, in m") == true)
        #expect(
            try fault(#"[{\#(here),"longitude":1},{"time":"2024-03-16T06:00:00Z","latitude":1,"longitude":1}]"#)
                == "route[1].time: is before that of the point before it")
        #expect(try fault(#"[{\#(here),"longitude":13}]"#) == nil)
    }
}
