import Testing

@testable import Samples

/// The limits of possible and of plausible values.
@Suite struct HealthLimitsTests {
    private let registry = TypeRegistry.standard

    private func limits(_ name: String) throws -> HealthLimits { try #require(registry.resolve(name)?.limits) }

    @Test func `only quantities have limits, and their plausible range lies within the possible one`() {
        for type in registry.all {
            #expect((type.kind == .quantity) == (type.limits != nil), "\(type)")
            guard let limits = type.limits else { continue }
            #expect(limits.possible.contains(limits.plausible.lowerBound), "\(type)")
            #expect(limits.possible.contains(limits.plausible.upperBound), "\(type)")
            // Values in % are fractions from 0 to 1, and cumulative values are not negative.
            if type.unit == "%" { #expect(limits.possible == 0...1, "\(type)") }
            if type.aggregation == .cumulative, type.id != .hcElevationGained {
                #expect(limits.possible.lowerBound == 0, "\(type)")
            }
        }
    }

    @Test(arguments: [
        ("weight", 0.21), ("weight", 635), ("height", 0.24), ("height", 2.72), ("bodyMassIndex", 251),
        ("heartRate", 25),
        ("heartRate", 0), ("bloodGlucose", 2_656), ("bodyTemperature", 11.8), ("bodyTemperature", 46.5),
        ("bloodPressureSystolic", 480), ("bloodPressureDiastolic", 0), ("vo2Max", 97.5), ("waistCircumference", 3.02),
        ("bloodAlcoholContent", 0.0148), ("oxygenSaturation", 1), ("heartRateRecoveryOneMinute", -20), ("stepCount", 0),
    ])
    func `values that people have survived are possible`(type: String, value: Double) throws {
        let limits = try limits(type)
        #expect(limits.objection(to: value, of: try TypeID(type), unit: "") == nil)
    }

    @Test func `a reason names the type, the bound and the unit, and never the value`() throws {
        let weight = try limits("weight")
        #expect(
            weight.objection(to: -5.25, of: .weight, unit: "kg")
                == "value: weight is below 0.1 kg, which is impossible; check its unit")
        #expect(
            weight.objection(to: 72_300, of: .weight, unit: "kg")
                == "value: weight is above 700 kg, which is impossible; check its unit")
        #expect(
            try limits("bodyFatPercentage").objection(to: 18.2, of: .bodyFatPercentage, unit: "%")
                == "value: bodyFatPercentage is above 100 %, which is impossible; in a record 18 percent is the fraction 0.18"
        )
    }

    @Test(arguments: [
        ("dietaryWater", 200_000), ("stepCount", 3_000_000), ("dietaryEnergyConsumed", 200_000),
        ("distanceCycling", 20_000_000), ("appleExerciseTime", 44_640), ("dietaryProtein", 20_000),
    ])
    func `an amount has no possible maximum, and is plausible up to the sum of a month`(
        type: String, most: Double
    ) throws {
        let limits = try limits(type)
        #expect(limits.plausible == 0...most && limits.possible == 0 ... .infinity)
    }

    @Test func `times before 1900 or over a day ahead are implausible, unless the hub's clock is not set`() throws {
        let noon = try Timestamp(parsing: "2026-11-22T12:00:00Z").microseconds
        func marks(_ start: String, _ end: String? = nil, at now: Int64) throws -> SampleMembers {
            let sample = Sample(
                source: Source(plugin: "p"), key: try #require(RecordKey("k")), type: .stepCount,
                value: .quantity(1, unit: "count"), start: try Timestamp(parsing: start),
                end: try end.map { try Timestamp(parsing: $0) })
            return SampleMembers(implausibleOf: sample, canonical: 1, try limits("stepCount"), at: now)
        }
        #expect(try marks("2026-11-23T12:00:00Z", at: noon) == [])
        #expect(try marks("2026-11-23T12:00:00.000001Z", at: noon) == [.start])
        #expect(try marks("2026-11-23T14:00:00+02:00", at: noon) == [])
        #expect(try marks("2026-11-22T12:00:00Z", "2099-01-01T00:00:00Z", at: noon) == [.end])
        #expect(try marks("2098-01-01T00:00:00Z", "2099-01-01T00:00:00Z", at: noon) == [.start, .end])
        #expect(try marks("1900-01-01T00:00:00Z", at: noon) == [])
        #expect(try marks("1899-12-31T23:59:59Z", at: noon) == [.start])
        for clock in ["1970-01-01T00:00:10Z", "2025-12-31T23:59:59Z"] {
            #expect(try marks("2099-01-01T00:00:00Z", at: try Timestamp(parsing: clock).microseconds) == [])
        }
        #expect(try marks("2099-01-01T00:00:00Z", at: SampleMembers.earliestClock) == [.start])
    }
}
