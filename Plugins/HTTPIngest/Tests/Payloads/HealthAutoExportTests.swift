import Foundation
import PhonePayloads
import Platform
import Samples
import Testing

/// Health Auto Export, in addition to the bodies of `Fixtures`.
@Suite struct HealthAutoExportTests {
    private func point(_ minute: Int, _ qty: String, _ source: String = "Watch") -> String {
        #"{"date":"2026-02-10 06:\#(minute < 10 ? "0" : "")\#(minute):00 +0100","qty":\#(qty),"source":"\#(source)"}"#
    }

    @Test func `A repeated body has the same keys and contents, in any order of members and points`() throws {
        let one = try Reading(metric: "heart_rate_variability", "ms", [point(1, "41"), point(1, "47"), point(2, "50")])
        let other = try Reading(
            metric: "heart_rate_variability", "ms",
            [
                #"{"source":"Watch","qty":50.0,"date":"2026-02-10 06:02:00 +0100"}"#,
                #"{"qty":47,"date":"2026-02-10 06:01:00 +0100","source":"Watch"}"#,
                #"{"qty":41,"source":"Watch","date":"2026-02-10 06:01:00 +0100"}"#,
            ])
        #expect(Set(one.samples) == Set(other.samples) && one.samples.count == 3)
    }

    @Test func `sums belong to a source for each watch and phone, and hours to a source of sums`() throws {
        let names = ["Mira\u{2019}s Apple\u{A0}Watch", "iPhone", "Sums", ""]
        let points = names.enumerated().map { point($0, "5", $1) }
        let steps = try Reading(metric: "step_count", "count", points).samples.map(\.source)
        #expect(steps.map(\.account).prefix(2) == ["hae mira_s_apple_watch", "hae iphone"])
        #expect(Set(steps).count == 4 && !steps.contains { $0.isSumAccount })
        let hours = try Reading(metric: "step_count", "count", points, grouping: "Hours").samples
        #expect(!hours.isEmpty && hours.allSatisfy { $0.source.account == "hae sums" && $0.source.isSumAccount })
        let rates = try Reading(metric: "heart_rate_variability", "ms", [point(1, "41")], grouping: "Hours").samples
        #expect(rates.map(\.source.account) == ["hae"], "a mean has not all in it that others say")
    }

    @Test(arguments: [
        ("33.3", 0.333), ("97", 0.97), ("100", 1), ("61.999999999999993", 0.61999999999999993), ("9.7e1", 0.97),
        ("0.75e0", 0.0075),
    ])
    func `A percentage is divided by moving its decimal point`(digits: String, fraction: Double) throws {
        let reading = try Reading(metric: "walking_asymmetry_percentage", "%", [point(1, digits)])
        guard case .quantity(let value, _)? = reading.samples.first?.value else { return #expect(Bool(false)) }
        #expect(value == fraction)
    }

    @Test func `An impossible percentage is refused, and not rescaled`() throws {
        let reading = try Reading(metric: "blood_oxygen_saturation", "%", [point(1, "0.97"), point(2, "97")])
        #expect(reading.faults == ["/data/metrics/0/data/0 value"] && reading.samples.count == 1)
    }

    @Test func `Every metric of the table is read by each of its names, in any spelling`() throws {
        for name in ["Step Count", "step-count", "steps", "STEP_COUNT"] {
            #expect(try Reading(metric: name, "count", [point(1, "5")]).samples.first?.type == .stepCount, "\(name)")
        }
        let fat = try Reading(metric: "monosaturated_fat", "g", [point(1, "5")])
        #expect(fat.samples.first?.type == .dietaryFatMonounsaturated)
        let weight = try Reading(metric: "weight_&_body_mass", "st", [point(1, "12")])
        #expect(weight.samples.first?.type == .weight && weight.verdicts() == [])
    }

    @Test func `An unknown metric is kept completely and once, in any order of its members`() throws {
        let one = try Reading(metric: "beats", "x", [#"{"date":"2026-02-10 06:01:00 +0100","qty":[1,{"b":2,"a":1}]}"#])
        let other = try Reading(
            metric: "beats", "x", [#"{"qty":[1,{"a":1,"b":2}],"date":"2026-02-10 06:01:00 +0100"}"#])
        #expect(one.samples == other.samples && one.kept.count == 1 && one.records.isEmpty)
        #expect(one.ignored.map(\.points) == [1] && one.ignored.map(\.name) == ["beats"])
        #expect(one.samples.first?.metadata?.text.contains(#""qty":[1,{"a":1,"b":2}]"#) == true)
        #expect(one.verdicts() == [])
        let timeless = try Reading(metric: "beats", "x", [#"{"qty":1}"#])
        let later = try Reading(
            #"{"data":{"metrics":[{"name":"beats","units":"x","data":[{"qty":1}]}]}}"#, .healthAutoExport,
            PhoneContext(plugin: "http-ingest", device: "phone", person: "mira", arrival: Reading.arrival + 60_000_000))
        #expect(timeless.samples == later.samples)
    }

    @Test func `An unknown array of a newer app, and a metric grouped by weeks, are reported`() throws {
        let reading = try Reading(#"{"data":{"dreams":[{"date":"2026-02-10","text":"x"}]}}"#, .healthAutoExport)
        #expect(reading.kept.count == 1 && reading.ignored.map(\.name) == ["dreams"])
        let weeks = try Reading(metric: "step_count", "count", [point(1, "5")], grouping: "Weeks")
        #expect(weeks.faults == ["/data/metrics/0 time"])
    }

    @Test func `The value of a day needs a person`() throws {
        let body = #"{"data":{"metrics":[{"name":"step_count","units":"count","data":[\#(point(1, "5"))]}]}}"#
        let reading = try Reading(body, .healthAutoExport, Reading.context { $0.grouping = "Days" })
        #expect(reading.faults == ["/data/metrics/0/data/0 person"])
    }

    @Test func `Points of every shape have different keys, and the hub accepts them`() throws {
        let shapes: [(String, String, String, Int)] = [
            ("blood_pressure", "mmHg", #""systolic":121,"diastolic":79"#, 3),
            ("blood_glucose", "mmol/L", #""qty":5.2,"mealTime":"After Meal""#, 1),
            ("insulin_delivery", "IU", #""qty":4,"reason":"Basal""#, 1),
            ("sexual_activity", "count", #""Unspecified":0,"Protection Used":2,"Protection Not Used":1"#, 3),
            ("handwashing", "s", #""qty":20,"value":"Complete""#, 1),
            ("toothbrushing", "min", #""qty":2,"value":"Incomplete""#, 1),
            ("mindful_minutes", "min", #""qty":10"#, 1), ("apple_stand_hour", "count", #""qty":1"#, 1),
            (
                "sleep_analysis", "hr",
                #""startDate":"2026-02-10 01:00:00 +0100","endDate":"2026-02-10 02:00:00 +0100","value":"AsleepREM","qty":1"#,
                1
            ),
            ("heart_rate", "bpm", #""Min":50,"Avg":61.5,"Max":90"#, 1),
        ]
        for (name, unit, members, count) in shapes {
            for grouping in [nil, "Minutes", "Hours"] as [String?] {
                let reading = try Reading(
                    metric: name, unit, [#"{"date":"2026-02-10 06:00:00 +0100","source":"Phone",\#(members)}"#],
                    grouping: grouping)
                #expect(reading.samples.count == count && reading.rejected == [], "\(name) \(grouping ?? "-")")
                #expect(Set(reading.keys).count == count && reading.verdicts() == [], "\(name)")
            }
        }
    }

    @Test func `A long route is split into records that the hub accepts, in the order of time`() throws {
        let points = (0..<1_000).map { index in
            let second = 59 - index % 60
            return
                #"{"latitude":52.\#(100_000 + index),"longitude":13.4,"altitude":34.123456789012345,"speed":2.7999999999999998,"course":-1,"horizontalAccuracy":4.7999999999999998,"timestamp":"2026-02-10 18:\#(10 + index / 60):\#(second < 10 ? "0" : "")\#(second) +0100"}"#
        }
        let body =
            #"{"data":{"workouts":[{"id":"A","name":"Outdoor Walk","start":"2026-02-10 18:00:00 +0100","end":"2026-02-10 18:40:00 +0100","route":[\#(points.joined(separator: ","))]}]}}"#
        let reading = try Reading(body, .healthAutoExport)
        #expect(reading.samples.filter { $0.type == .workoutRoute }.compactMap(\.route).joined().count == 1_000)
        #expect(reading.verdicts() == [] && Set(reading.samples.map(\.group)) == ["20260210T170000Z A"])
    }

    @Test func `A long electrocardiogram keeps every voltage with all digits`() throws {
        let voltages = (0..<3_000).map {
            #"{"date":"2026-02-10 12:00:00.000 +0100","voltage":\#($0)e-07,"units":"V"}"#
        }
        let body =
            #"{"data":{"ecg":[{"start":"2026-02-10 12:00:00 +0100","end":"2026-02-10 12:00:30 +0100","classification":"SR","voltageMeasurements":[\#(voltages.joined(separator: ","))]}]}}"#
        let reading = try Reading(body, .healthAutoExport)
        let kept = reading.kept.compactMap { record -> [String: Any]? in
            guard case .sample(let sample) = record.record, let text = sample.metadata?.text else { return nil }
            return try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        }
        let found = kept.flatMap { $0["voltages"] as? [Double] ?? [] }
        let sent = (0..<3_000).compactMap { Double("\($0)e-07") }
        #expect(found == sent)
        #expect(kept.count > 1 && reading.verdicts() == [])
    }

    @Test func `Bodies of any size are read in pieces, and every point is accounted for`() throws {
        var seed = SeededGenerator(seed: 1)
        for _ in 0..<20 {
            let count = Int.random(in: 0...3_500, using: &seed)
            let points = (0..<count).map { index -> String in
                switch Int.random(in: 0..<20, using: &seed) {
                case 0: return #"{"qty":1}"#
                case 1: return "7"
                case 2: return point(1, "41")
                default:
                    return
                        #"{"date":"2026-02-10 0\#(index % 10):\#(10 + index % 50):\#(10 + index / 500) +0100","qty":\#(index),"source":"s\#(index % 3)"}"#
                }
            }
            let reading = try Reading(metric: "heart_rate", "count/min", points)
            let refused = reading.rejected.count + reading.ignored.count
            #expect(reading.received == count && reading.samples.count + refused == count)
            #expect(Set(reading.keys).count == reading.keys.count)
            #expect(reading.samples.count < 1_500 || reading.pieces > 1)
        }
    }
}
