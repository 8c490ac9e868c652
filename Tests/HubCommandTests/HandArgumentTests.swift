import ArgumentParser
import HealthText
import HubClient
import Samples
import Testing

@testable import HubCommand

/// Foods, workouts and the other words on the command line that describe an entry.
@Suite struct HandArgumentTests {
    @Test func `a type name that is far too long is abbreviated in the error`() {
        let reason = TypeArgument.unknown(String(repeating: "sleep", count: 20_000))
        #expect(reason == "there is no type \(String(repeating: "sleep", count: 12))…; hub types lists them")
        #expect(TypeArgument.resolved("sleep") == "sleepAnalysis")
        #expect(TypeArgument.unknown("step").contains("did you mean stepCount, "))
    }

    @Test func `a type with one possible value needs no value and may have a duration`() throws {
        let meditation = try entry("meditation|10min")
        #expect(meditation.type == "mindfulSession" && meditation.value == .name("notApplicable"))
        #expect(meditation.seconds == 600)
        #expect(try entry("meditation").value == .name("notApplicable"))
    }

    private func entry(_ line: String, _ options: String...) throws -> ManualEntry {
        let words = line.split(separator: "|").map(String.init)
        return try ManualEntry(words[0], Array(words.dropFirst()), try EntryOptions.parse(options))
    }

    @Test func `a food is its name and its energy, and with more than that a group`() throws {
        let sandwich = try entry("food|Ham Sandwich|300J")
        #expect(sandwich.type == "dietaryEnergyConsumed" && sandwich.members.isEmpty)
        #expect(sandwich.value == .quantity(300, unit: "J"))
        #expect(try sandwich.metadata() == #"{"foodType":"Ham Sandwich"}"#)
        for line in ["food|Ham|Sandwich|300|kcal", "food|Ham Sandwich|300 kcal"] {
            let meal = try entry(line, "--protein", "12g", "--with", "dietaryCalcium 90mg")
            #expect(meal.type == "food" && meal.value == nil)
            #expect(meal.members.map(\.type) == [.dietaryEnergyConsumed, .dietaryProtein, .dietaryCalcium])
            #expect(meal.members.map(\.unit) == ["kcal", "g", "mg"])
        }
        #expect(try entry("food|7 Up", "--sugar", "35g").members.map(\.type) == [.dietarySugar])
    }

    @Test func `an activity is a workout, by its name or what people call it`() throws {
        let swim = try entry("swim|30min", "--energy", "300kcal", "--distance", "1km")
        #expect(swim.type == "workout" && swim.value == .name("swimming") && swim.seconds == 1_800)
        #expect(swim.members.map(\.type) == [.activeEnergyBurned, .distanceSwimming])
        #expect(try entry("Running|1h 15min", "--distance", "12km").members.map(\.type) == [.distanceWalkingRunning])
        #expect(try entry("workout|tai|30min".replacing("tai", with: "taiChi")).value == .name("taiChi"))
        #expect(try entry("yoga").seconds == nil)
        // All activities of HealthKit; none of their names is a type.
        for activity in WorkoutActivity.all {
            #expect(try entry("\(activity.name)|1h").value == .name(activity.name), "\(activity.name)")
        }
    }

    @Test(arguments: [
        ("food", [], "the food's name is missing"), ("food|300J", [], "the food's name is missing"),
        ("food|Ham Sandwich", [], "how much of what?"), ("food|Ham Sandwich|300x", [], "there is no unit x"),
        ("food|Ham Sandwich|300J", ["--distance", "1km"], "a food has none"), ("workout", [], "which activity?"),
        ("workout|swiming|1h", [], "did you mean swimming?"), ("swim|30", [], "how long, such as 30min"),
        ("swim|30kg", [], "how long, such as 30min"), ("swim|30min x", [], "how long"),
        ("swim|30min", ["--energy", "300"], "300 of what?"), ("swim|30min", ["--protein", "1g"], "log it as a food"),
        ("yoga|1h", ["--distance", "1km"], "give it as another quantity: 'distanceWalkingRunning 1km' (--with)"),
        ("swim|30min", ["--with", "sleepAnalysis 1"], "expected a quantity and its value"),
        ("weight|80kg", ["--energy", "300kcal"], "only a food and a workout have it"),
        ("swiming|30min", [], "did you mean the activity swimming?"),
    ]) func `an ambiguous or incomplete food or workout is refused with an example to type`(
        _ line: String, _ options: [String], _ hint: String
    ) throws {
        let failure = try #require(throws: Failure.self) {
            let words = line.split(separator: "|").map(String.init)
            _ = try ManualEntry(words[0], Array(words.dropFirst()), try EntryOptions.parse(options))
        }
        #expect(failure.exit == .usage && failure.message.contains(hint), "\(failure.message)")
    }

    @Test func `an option used for the wrong purpose is refused with the option to use instead`() throws {
        let note = #expect(throws: Failure.self) {
            let entry = try entry("weight|80kg", "--metadata", "note=x")
            _ = try Failure.entryValue { () throws(EntryError) in try entry.metadata() }
        }
        #expect(note?.message == "--metadata: give the note separately (--note)")
        let long = #expect(throws: Failure.self) {
            let (entry, clock) = (try entry("swim"), try PersonClock(zone: "Europe/Berlin", now: 0))
            let times = EntryTimes(Timestamp(microseconds: 0), zone: nil, end: nil, isStart: true, isInterval: false)
            _ = try Failure.entryValue { () throws(EntryError) in
                try entry.arguments(times, of: "me", by: clock, note: nil, key: nil)
            }
        }
        #expect(long?.message.hasSuffix("or its beginning and its end (--from, --to)") == true)
    }

    @Test func `metadata is parsed as its key requires, by HealthKit's name or the hub's`() throws {
        let entry = try entry(
            "weight|80kg", "--metadata", "HKInsulinDeliveryReason=bolus", "--metadata", "menstrualCycleStart=yes",
            "--metadata", "lapLength=25 m", "--metadata", "swolfScore=35,5", "--metadata", "mine=a=b")
        #expect(
            try entry.metadata()
                == #"{"insulinDeliveryReason":"bolus","menstrualCycleStart":true,"lapLength":{"value":25,"unit":"m"},"swolfScore":35.5,"mine":"a=b"}"#
        )
        for wrong in ["menstrualCycleStart=maybe", "lapLength=25", "note=x", "x", "swolfScore=low"] {
            let entry = try self.entry("weight|80kg", "--metadata", wrong)
            let fault = try #require(throws: EntryError.self, "\(wrong)") { try entry.metadata() }
            #expect(fault.field == "metadata")
        }
    }
}
