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
        return DayFill.series(readings, rules, clocks: clocks, through: 0).first?.value
    }

    @Test func `each aggregator computes the value that its name says`() {
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

    @Test func `in a weighted mean a value counts until the next reading, at most for five minutes`() {
        // One minute at 60, three at 80, and five, the maximum, at 100.
        let values: [(minute: Int64, value: Double, source: Int32)] = [(0, 60, 0), (1, 80, 0), (4, 100, 0)]
        #expect(abs((day(.weightedMean, values) ?? 0) - (60 + 3 * 80 + 5 * 100) / 9.0) < 1e-9)
        // The value during hours without a reading is unknown, so the reading before them counts for five minutes only.
        #expect(day(.weightedMean, [(0, 60, 0), (300, 80, 0)]) == 70)
        // An hour of sport with a reading a minute weighs one hour, although it has most of the day's readings.
        let rest = (0..<12).map { (minute: Int64($0) * 5, value: 60.0, source: Int32(0)) }
        let sport = (60..<120).map { (minute: Int64($0), value: 150.0, source: Int32(0)) }
        #expect(abs((day(.weightedMean, rest + sport) ?? 0) - (60 * 60 + 59 * 150 + 5 * 150) / 124.0) < 1e-9)
        // Readings of the same instant hold equally long.
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

    @Test func `the name of a series has its aggregator and its number of days`() {
        #expect(SeriesRules(.mean).name == "mean30")
        #expect(SeriesRules(.median, days: 7).name == "median7")
        #expect(SeriesRules(.first, days: 1).name == "first")
        #expect(SeriesRules(.sum, days: 30).name == "sum")
    }

    @Test func `the best of overlapping sources counts, each with its part within the day`() throws {
        func hours(_ from: Double, _ to: Double, _ value: Double, _ source: Int32) -> Reading {
            let (time, end) = (Int64(from * 3_600_000_000), Int64(to * 3_600_000_000))
            return Reading(
                number: time / 60_000_000 + Int64(source) + 10_000, time: time, end: end, value: value,
                day: clocks[0].day(of: time), source: source)
        }
        // The watch covers half of the phone's hour, and one of its samples crosses midnight.
        let readings = [
            hours(8, 9, 1_000, 1), hours(8.5, 9.5, 800, 2), hours(23, 25, 600, 2), hours(24.5, 25.5, 90, 1),
        ]
        var rules = SeriesRules(.sum)
        func sums() -> [Double] { DayFill.series(readings, rules, clocks: clocks, through: 5).map(\.value) }
        rules.ranks = [1: 2, 2: 1]
        #expect(sums() == [1_600, 345], "500 + 800 + 300 and 300 + 45")
        rules.ranks = [1: 1, 2: 2]
        #expect(sums() == [1_700, 240], "1000 + 400 + 300 and 150 + 90")
        let history = DayHistory(readings, [rules], clocks: clocks)
        #expect(history.basis(0, of: 0) == [10_481, 10_512, 11_382])
        #expect(history.basis(0, of: 1) == [11_382, 11_471])
        // A reading that a better source covers completely is not part of the day's basis.
        rules.ranks = [2: 1]
        let covered = [hours(8.5, 9, 70, 1), hours(8, 10, 800, 2)]
        #expect(DayHistory(covered, [rules], clocks: clocks).basis(0, of: 0) == [10_482])
    }

    @Test
    func `days begin by the local clock, later if so configured, also when the clocks skip an hour or a day`() throws {
        let hour: Int64 = 3_600_000_000
        let berlin = try #require(DayClock(zone: "Europe/Berlin", dayStartMinutes: 240))
        let four: Int64 = 1_711_850_400_000_000  // 2024-03-31T04:00+02:00
        let spring = berlin.day(of: four)
        #expect(spring == 19_813)
        #expect(berlin.day(of: four - 1) == spring - 1)
        #expect(berlin.day(of: four + 24 * hour - 1) == spring)
        let calendar = try #require(DayCalendar(zone: "UTC"))
        let india = try #require(DayClock(zone: calendar.zone(at: Timestamp(microseconds: 0, offsetMinutes: 330))))
        #expect(india.day(of: 18 * hour) == 0)
        #expect(india.day(of: 18 * hour + hour / 2) == 1)
        // Samoa had no 30 December 2011.
        let apia = try #require(DayClock(zone: "Pacific/Apia"))
        let before = apia.day(of: 1_325_239_199_000_000)  // 2011-12-29T23:59:59-10:00
        #expect(apia.day(of: 1_325_239_200_000_000) == before + 2)
    }

    @Test func `an offset that the person's zone has at that time resolves to that zone`() throws {
        let calendar = try #require(DayCalendar(zone: "Europe/Berlin"))
        func zone(_ text: String, _ name: String? = nil) throws -> String {
            calendar.zone(at: try Timestamp(parsing: text), zone: name)
        }
        #expect(try zone("2024-07-01T10:00:00+02:00") == "Europe/Berlin")
        #expect(try zone("2024-07-01T10:00:00Z") == "Europe/Berlin")
        #expect(try zone("2024-07-01T10:00:00+01:00") == "GMT+0100")
        #expect(try zone("2024-07-01T10:00:00+02:00", "Asia/Tokyo") == "Asia/Tokyo")
        #expect(try zone("2024-07-01T10:00:00+02:00", "Mars/Olympus") == "Europe/Berlin")
        let fixed = try #require(DayCalendar(.fixed, zone: "UTC"))
        #expect(fixed.zone(at: try Timestamp(parsing: "2024-07-01T10:00:00+02:00"), zone: "Asia/Tokyo") == "UTC")
    }

    @Test
    func `only the best preferred source with readings on a day counts, and all count if no preferred one has any`() {
        let values: [(minute: Int64, value: Double, source: Int32)] = [(420, 80, 1), (425, 81, 2), (430, 82, 3)]
        #expect(day(.mean, values, preferred: [[9], [2], [1]]) == 81)
        #expect(day(.mean, values, preferred: [[9]]) == 81)
        #expect(day(.mean, values, preferred: [[1, 3]]) == 81)
        #expect(day(.last, values, preferred: [[1]]) == 80)
    }

    @Test func `a reading from two sources counts once, and two readings from one source count twice`() {
        func mean(_ other: (minute: Int64, value: Double, source: Int32)) -> Double? {
            day(.mean, [(420, 80, 1), other, (900, 82, 1)], tolerance: 0.05)
        }
        #expect(mean((420, 80.04, 2)) == 81)
        #expect(mean((421, 80, 2)) == 81)
        #expect(mean((422, 80, 2)) == 242.0 / 3)
        #expect(mean((420, 80.06, 2)) == 242.06 / 3)
        #expect(mean((420, 80, 1)) == 242.0 / 3)
    }

    @Test func `from the carriesUntil day on, older values are not carried, and new ones are`() {
        var rules = SeriesRules(.mean)
        rules.carriesUntil = 5
        let readings = [
            Reading(number: 1, time: 0, value: 80, day: 0), Reading(number: 2, time: 0, value: 70, day: 8),
        ]
        let days = DayFill.series(readings, rules, through: 10)
        #expect(days.map(\.day) == [0, 1, 2, 3, 4, 8, 9, 10])
    }

    @Test func `only slowly changing types are carried, and none that safety depends on`() throws {
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
            #expect(throws: DayValueError.self) { try treatment(name) }
        }
    }

    @Test func `zero is implausible for a weight and plausible for a step count`() throws {
        func plausible(_ name: String) throws -> PlausibleRange {
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
