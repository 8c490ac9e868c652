import Foundation
import HubProcess
import Testing

@testable import Samples

@Suite struct TypeRegistryTests {
    let registry = TypeRegistry.standard

    // MARK: Completeness

    @Test func `every row of the tables is a type`() throws {
        let quantities = try Tables.rows("hk-quantity-types.csv")
        let categories = try Tables.rows("hk-category-types.csv")
        #expect(quantities.count == 121 && categories.count == 72)
        for row in quantities + categories {
            let identifier = try #require(row["hk_identifier"])
            let type = try #require(registry.resolve(identifier), "\(identifier)")
            #expect(type.id.rawValue == row["id"] || row["id"] == "audioExposureEvent", "\(identifier)")
            #expect(type.kind == (row["wireUnit"] == nil ? .category : .quantity))
            #expect(type.unit == row["wireUnit"], "\(identifier)")
            #expect(type.aggregation?.rawValue == row["aggregation"], "\(identifier)")
        }
    }

    @Test func `every row of the types that HealthKit lacks is a type of its origin`() throws {
        let rows = try Tables.rows("hub-types.csv")
        for row in rows {
            let type = try #require(registry.type(try TypeID(row["id"] ?? "")), "\(row)")
            #expect(type.origin != nil && type.origin?.rawValue == row["origin"], "\(row)")
            #expect(type.unit == row["wireUnit"] && type.aliases.healthKit.isEmpty, "\(row)")
        }
        #expect(registry.all.filter { $0.origin != .healthKit }.count == rows.count)
    }

    @Test func `the registry has as many types of each kind as the tables`() throws {
        let counts = Dictionary(grouping: registry.all, by: \.kind).mapValues(\.count)
        // HealthKit's quantities: 121. Categories: 72 less the alias. Characteristics: 6 and one that only exports have.
        // Others: 12 sample types, 9 clinical types and the sleep goal of exports.
        let own = try Tables.rows("hub-types.csv").count
        #expect(
            counts == [
                .quantity: 121 + own, .category: 71, .correlation: 2, .workout: 1, .characteristic: 7, .other: 22,
            ])
        let healthKit = registry.all.filter { $0.origin == .healthKit }
        let styles = Dictionary(grouping: healthKit.compactMap(\.aggregation)) { $0 }
        #expect(
            styles.mapValues(\.count) == [
                .cumulative: 63, .discreteArithmetic: 48, .discreteTemporallyWeighted: 7,
                .discreteEquivalentContinuousLevel: 3,
            ])
        #expect(WorkoutActivity.all.count == 84)
    }

    @Test func `each type has exactly the properties that its kind needs`() {
        for type in registry.all {
            #expect((type.kind == .quantity) == (type.aggregation != nil), "\(type)")
            #expect(type.kind != .quantity || type.unit != nil, "\(type)")
            #expect((type.unit == nil) == (type.healthUnit == nil), "\(type)")
            #expect(type.kind != .category || !type.values.isEmpty, "\(type)")
            #expect(throws: Never.self, "\(type)") { try TypeID(type.id.rawValue) }
            #expect(type.requiredMembers.allSatisfy { registry.type($0)?.kind == .quantity }, "\(type)")
        }
    }

    @Test func `every unit of the tables parses and is compatible with the unit of its type`() throws {
        for row in try Tables.rows("hk-quantity-types.csv") + Tables.rows("hub-types.csv") {
            let wire = try HealthUnit(try #require(row["wireUnit"]))
            for column in ["hk_canonical_unit", "typical_display_unit", "seen_export_units"] {
                for text in (row[column] ?? "").split(whereSeparator: { $0 == "|" || $0 == "+" }) {
                    #expect(try HealthUnit(String(text)).isCompatible(with: wire), "\(row["id"] ?? ""): \(text)")
                }
            }
        }
    }

    @Test func `each dimension name stands for one dimension`() {
        let named = registry.all.filter { $0.dimension != nil }
        for (name, types) in Dictionary(grouping: named, by: \.dimension) {
            #expect(Set(types.map(\.healthUnit?.dimension)).count == 1, "\(name ?? "")")
        }
        #expect(registry.type(.heartRate)?.healthUnit?.dimension.description == "time^-1")
        #expect(registry.type(.stepCount)?.healthUnit?.dimension == UnitDimension.none)
    }

    @Test(.enabled(if: Need.python.isMet, "\(Need.python.reason)")) func `the generated files are current`() {
        let generator = Tables.types.appending(path: "generate.py").path()
        #expect(Tool.failure("python3", ["-B", generator, "--check"]) == nil)
    }

    // MARK: Names

    @Test(arguments: [
        ("weight", "weight"), ("bodyMass", "weight"), ("HKQuantityTypeIdentifierBodyMass", "weight"),
        ("29463-7", "weight"), ("omh:body-weight", "weight"), ("omh:body-weight:3.0", "weight"),
        ("WeightRecord", "weight"), ("Weight", "weight"), ("2708-6", "oxygenSaturation"),
        ("59408-5", "oxygenSaturation"), ("HKQuantityTypeIdentifierVO2Max", "vo2Max"),
        ("HKQuantityTypeIdentifierUVExposure", "uvExposure"), ("audioExposureEvent", "environmentalAudioExposureEvent"),
        ("HKCategoryTypeIdentifierAudioExposureEvent", "environmentalAudioExposureEvent"),
        ("HKCategoryTypeIdentifierEnvironmentalAudioExposureEvent", "environmentalAudioExposureEvent"),
        ("85354-9", "bloodPressure"), ("HKWorkoutTypeIdentifier", "workout"), ("73985-4", "workout"),
        ("BasalMetabolicRateRecord", "hc.basalMetabolicRate"), ("hc.boneMass", "hc.boneMass"),
        ("x.ihealth.visceralFatLevel", "x.ihealth.visceralFatLevel"), ("SleepSessionRecord", "sleepAnalysis"),
        ("HKClinicalTypeIdentifierLabResultRecord", "labResult"), ("NutritionRecord.energy", "dietaryEnergyConsumed"),
    ])
    func `a type is found by every name it has`(name: String, id: String) {
        #expect(registry.resolve(name)?.id.rawValue == id)
    }

    @Test func `a name that several types share resolves to none and is listed as ambiguous`() {
        #expect(
            registry.ambiguousAliases.keys.sorted() == [
                "omh:body-temperature", "omh:body-temperature:4.0", "omh:speed", "omh:speed:1.0",
            ])
        #expect(registry.ambiguousAliases["omh:body-temperature"] == [.basalBodyTemperature, .bodyTemperature])
        #expect(registry.resolve("omh:speed") == nil)
    }

    @Test(arguments: ["", "nonsense", "NutritionRecord field", "omh:", "kg", "HKQuantityTypeIdentifierNew"])
    func `a text that is not the name of a type resolves to none`(name: String) {
        #expect(registry.resolve(name) == nil)
    }

    @Test(arguments: [
        ("wieght", "weight"), ("heartrate", "heartRate"), ("stepcounts", "stepCount"), ("bodymass", "weight"),
        ("steps", "stepCount"), ("blood pressure", "bloodPressure"),
        ("HKQuantityTypeIdentifierHeartRat", "heartRate"), ("x.ihealth.visceralFat", nil),
        ("hc.boneMas", "hc.boneMass"),
        ("qqqqqqq", nil), ("", nil), (String(repeating: "w", count: 100_000), nil),
    ])
    func `a misspelled id or an everyday name gets the intended id as a suggestion`(name: String, id: String?) {
        #expect(registry.suggestion(for: name)?.rawValue == id)
    }

    @Test(arguments: [
        "weight", "hc.boneMass", "x.acme.fizz", "x.acme.fizz.buzz", "HKQuantityTypeIdentifierNew", "a_b-c",
    ])
    func `a well-formed id is valid even if it is not registered`(text: String) throws {
        let id = try TypeID(text)
        #expect(id.rawValue == text)
        #expect(try JSONDecoder().decode([TypeID].self, from: JSONEncoder().encode([id])) == [id])
    }

    @Test(arguments: [
        "", "a b", "größe", "a/b", "x.acme", "hc", "hc.a.b", ".a", "a.", "a..b", "a\0", "x", "a\n",
        String(repeating: "a", count: 129),
    ])
    func `a malformed id is refused`(text: String) {
        let error = #expect(throws: TypeError.self) { try TypeID(text) }
        #expect(error?.code == .malformedID)
    }

    @Test func `an unknown HealthKit identifier gets its kind from its prefix`() {
        #expect(SampleKind(healthKitIdentifier: "HKQuantityTypeIdentifierNew") == .quantity)
        #expect(SampleKind(healthKitIdentifier: "HKCategoryTypeIdentifierNew") == .category)
        #expect(SampleKind(healthKitIdentifier: "HKDataTypeIdentifierNew") == .other)
        #expect(SampleKind(healthKitIdentifier: "weight") == nil)
        for type in registry.all {
            for identifier in type.aliases.healthKit {
                #expect(SampleKind(healthKitIdentifier: identifier) == type.kind, "\(identifier)")
            }
        }
    }

    // MARK: Values and units

    @Test func `values are found by number, name and HealthKit constant`() throws {
        let sleep = try #require(registry.type(.sleepAnalysis))
        #expect(sleep.value(raw: 1)?.name == "asleepUnspecified")
        #expect(sleep.value(named: "asleep")?.name == "asleepUnspecified")
        #expect(sleep.value(named: "HKCategoryValueSleepAnalysisAsleep")?.name == "asleepUnspecified")
        #expect(sleep.value(named: "asleepCore")?.raw == 3)
        #expect(sleep.value(raw: 6) == nil && sleep.value(named: "dozing") == nil)
        let flow = try #require(registry.type(.menstrualFlow))
        #expect(flow.value(named: "HKCategoryValueMenstrualFlowLight")?.raw == 2)
        #expect(flow.value(named: "HKCategoryValueVaginalBleedingLight")?.raw == 2)
        #expect(registry.type(.menopausalState)?.value(named: "perimenopause")?.raw == .some(nil))
        #expect(registry.type(.bloodType)?.value(named: "HKBloodTypeABNegative")?.name == "abNegative")
    }

    @Test func `a value is accepted in any unit of the dimension and converted to the type's unit`() throws {
        let weight = try #require(registry.type(.weight))
        #expect(try weight.canonicalValue(70.1, unit: "kg") == 70.1)
        #expect(try weight.canonicalValue(160, unit: "lb") == 72.5747792)
        #expect(throws: UnitError.self) { try weight.canonicalValue(70, unit: "in") }
        #expect(throws: UnitError.self) { try weight.canonicalValue(.nan, unit: "kg") }
        let fitness = try #require(registry.type(.vo2Max))
        #expect(try fitness.canonicalValue(41.7, unit: "mL/min·kg") == 41.7)
        #expect(try fitness.canonicalValue(41.7, unit: "ml/(kg*min)") == 41.7)
        #expect(try registry.type(.sleepAnalysis)?.canonicalValue(1, unit: "count") == .some(nil))
        #expect(try registry.type(.hcBasalMetabolicRate)?.canonicalValue(4184, unit: "W") == 86_400)
    }

    @Test func `moles of a type that is one substance need no molar mass`() throws {
        let glucose = try #require(registry.type(.bloodGlucose))
        #expect(try glucose.canonicalValue(5, unit: "mmol/L") == 90.07794000002704)
        #expect(
            try glucose.canonicalValue(5, unit: "mmol/L")
                == glucose.canonicalValue(5, unit: "mmol<180.15588000005408>/L"))
        #expect(try glucose.canonicalValue(0.5, unit: "mmol/dL") == 90.07794000002704)
        #expect(
            try glucose.canonicalValue(1, unit: "mmol<180.156>/L") == 18.0156,
            "a molar mass in the unit is used as written")
        #expect(throws: UnitError.self) { try glucose.canonicalValue(5, unit: "mmol") }
        // For other types the molar mass is unknown.
        #expect(throws: UnitError.self) { try registry.type(.dietaryCaffeine)?.canonicalValue(1, unit: "mmol") }
    }

    @Test func `workout activities are found by number and name`() {
        #expect(WorkoutActivity.activity(raw: 37)?.name == "running")
        #expect(WorkoutActivity.activity(named: "swimming")?.raw == 46)
        #expect(WorkoutActivity.activity(named: "HKWorkoutActivityTypeOther")?.raw == 3000)
        #expect(WorkoutActivity.activity(raw: 81) == nil && WorkoutActivity.activity(named: "Running") == nil)
    }
}
