import DaySeries
import Samples
import Testing

@Suite struct RuleTests {
    private func day(
        _ aggregator: Aggregator, _ values: [(minute: Int64, value: Double, source: Int32)],
        preferred: [Set<Int32>] = [], tolerance: Double? = nil
    ) -> Double? {
        var rules = SeriesRules(aggregator, mirrorTolerance: tolerance)
        rules.preferred = preferred
        let readings = values.enumerated().map { index, one in
            Reading(number: Int64(index), time: one.minute * 60_000_000, value: one.value, day: 0, source: one.source)
        }
        return DayFill.series(readings, rules, through: 0).first?.value
    }

    @Test func `each aggregator says of a day what its name says`() {
        let values: [(minute: Int64, value: Double, source: Int32)] = [(420, 80.5, 0), (720, 80, 0), (1_300, 82, 0)]
        #expect(day(.mean, values) == 242.5 / 3)
        #expect(day(.median, values) == 80.5)
        #expect(day(.median, Array(values.prefix(2))) == 80.25)
        #expect(day(.first, values) == 80.5)
        #expect(day(.last, values) == 82)
        #expect(day(.minimum, values) == 80)
        #expect(day(.maximum, values) == 82)
        #expect(day(.sum, values) == 242.5)
    }

    @Test func `in a weighted mean a value counts until the next one, and for five minutes at most`() {
        // A minute at 60, three at 80, and 100 for as long as any value holds: five.
        let values: [(minute: Int64, value: Double, source: Int32)] = [(0, 60, 0), (1, 80, 0), (4, 100, 0)]
        #expect(abs((day(.weightedMean, values) ?? 0) - (60 + 3 * 80 + 5 * 100) / 9.0) < 1e-9)
        // After hours of silence nobody knows: what came before it counts for five minutes, too.
        #expect(day(.weightedMean, [(0, 60, 0), (300, 80, 0)]) == 70)
        // An hour of sport with a reading a minute is one hour of the day, not most of its readings.
        let rest = (0..<12).map { (minute: Int64($0) * 5, value: 60.0, source: Int32(0)) }
        let sport = (60..<120).map { (minute: Int64($0), value: 150.0, source: Int32(0)) }
        #expect(abs((day(.weightedMean, rest + sport) ?? 0) - (60 * 60 + 59 * 150 + 5 * 150) / 124.0) < 1e-9)
        // Readings of one instant hold as long as one another.
        #expect(day(.weightedMean, [(0, 60, 0), (0, 70, 1), (5, 80, 0)]) == 70)
        #expect(day(.weightedMean, [(0, 60, 0), (0, 70, 1)]) == 65)
        #expect(day(.weightedMean, [(7, 61.3, 0)]) == 61.3)
    }

    @Test func `the mean of equal readings is that reading, to the last bit`() {
        for value in stride(from: 50.1, to: 120, by: 0.7) {
            #expect(day(.mean, (0..<7).map { (Int64($0), value, 0) }) == value)
            #expect(day(.weightedMean, (0..<7).map { (Int64($0), value, 0) }) == value)
        }
    }

    @Test func `a series is named after what it does`() {
        #expect(SeriesRules(.mean).name == "mean30")
        #expect(SeriesRules(.median, days: 7).name == "median7")
        #expect(SeriesRules(.first, days: 1).name == "first")
        #expect(SeriesRules(.sum, days: 30).name == "sum")
    }

    @Test func `a sum is never of two sources: without a choice there is none, and the day is reported`() {
        let steps: [(minute: Int64, value: Double, source: Int32)] = [(600, 4_000, 1), (700, 500, 1), (605, 3_900, 2)]
        #expect(day(.sum, steps) == nil)
        #expect(day(.sum, steps, preferred: [[1]]) == 4_500)
        #expect(day(.sum, steps, preferred: [[2]]) == 3_900)
        #expect(day(.sum, steps, preferred: [[3]]) == nil)
        // Two devices of one chosen program are still two sources.
        #expect(day(.sum, steps, preferred: [[1, 2]]) == nil)

        let readings = steps.enumerated().map { index, step in
            Reading(number: Int64(index), time: step.minute, value: step.value, day: 7, source: step.source)
        }
        let history = DayHistory(readings, [SeriesRules(.sum)])
        #expect(history.conflicts(0).map(\.day) == [7] && history.conflicts(0).map(\.sources) == [[1, 2]])
        #expect(history.conflicts(0, through: 6).isEmpty)
    }

    @Test func `the best source with readings on a day counts alone; without any of them all do`() {
        let values: [(minute: Int64, value: Double, source: Int32)] = [(420, 80, 1), (425, 81, 2), (430, 82, 3)]
        #expect(day(.mean, values, preferred: [[9], [2], [1]]) == 81)
        #expect(day(.mean, values, preferred: [[9]]) == 81)
        #expect(day(.mean, values, preferred: [[1, 3]]) == 81)
        #expect(day(.last, values, preferred: [[1]]) == 80)
    }

    @Test func `a reading that came two ways counts once; two readings of one source are two`() {
        func mean(_ other: (minute: Int64, value: Double, source: Int32)) -> Double? {
            day(.mean, [(420, 80, 1), other, (900, 82, 1)], tolerance: 0.05)
        }
        #expect(mean((420, 80.04, 2)) == 81)
        #expect(mean((421, 80, 2)) == 81)
        #expect(mean((422, 80, 2)) == 242.0 / 3)
        #expect(mean((420, 80.06, 2)) == 242.06 / 3)
        #expect(mean((420, 80, 1)) == 242.0 / 3)
    }

    @Test func `from the day on that a scale was given away nothing older is carried, and what is measured is`() {
        var rules = SeriesRules(.mean)
        rules.carriesUntil = 5
        let readings = [
            Reading(number: 1, time: 0, value: 80, day: 0), Reading(number: 2, time: 0, value: 70, day: 8),
        ]
        let days = DayFill.series(readings, rules, through: 10)
        #expect(days.map(\.day) == [0, 1, 2, 3, 4, 8, 9, 10])
    }

    @Test func `what may be carried is what changes slowly, and nothing safety depends on`() throws {
        func treatment(_ name: String) throws -> DayTreatment {
            let type = try #require(TypeRegistry.standard.resolve(name))
            return try DayTreatment.of(type)
        }
        for name in ["weight", "bodyFatPercentage", "height", "waistCircumference", "leanBodyMass"] {
            #expect(try treatment(name).isCarried)
        }
        for name in [
            "heartRate", "bloodGlucose", "heartRateVariabilitySDNN", "bloodPressureSystolic", "bodyTemperature",
            "oxygenSaturation",
        ] {
            #expect(try !treatment(name).isCarried && !treatment(name).isSum)
        }
        for name in ["stepCount", "activeEnergyBurned", "dietaryWater", "distanceWalkingRunning"] {
            #expect(try treatment(name).isSum)
        }
        for name in ["sleepAnalysis", "environmentalAudioExposure", "bloodPressure"] {
            #expect(throws: DayRefusal.self) { try treatment(name) }
        }
    }

    @Test func `zero is never a weight, and a day without steps is one of zero`() throws {
        func plausible(_ name: String) throws -> Plausible {
            let type = try #require(TypeRegistry.standard.resolve(name))
            return try DayTreatment.of(type).plausible
        }
        let weight = try plausible("weight")
        for value in [0, -3, 0.09, .nan, .infinity, 9_000, 700.01] { #expect(weight.fault(of: value) != nil) }
        for value in [0.1, 3.2, 80, 700] { #expect(weight.fault(of: value) == nil) }
        #expect(try plausible("heartRate").fault(of: 0) != nil)
        let steps = try plausible("stepCount")
        #expect(steps.fault(of: 0) == nil)
        #expect(steps.fault(of: -1) != nil)
    }
}
