import Testing

@testable import Samples

/// Values as people read them.
@Suite struct DisplayUnitTests {
    private func text(
        _ value: Double, _ unit: String, _ type: TypeID, _ reader: String? = nil, finer: Int = 0
    ) -> String {
        DisplayUnit(unit, of: TypeRegistry.standard.type(type), reader: reader).text(value, finer: finer)
    }

    @Test func `a weight of the body is in the person's unit, anything else in the type's`() {
        #expect(text(80.28584949, "kg", .weight) == "80.3 kg")
        #expect(text(80.28584949, "kg", .weight, "kg") == "80.3 kg")
        #expect(text(80.28584949, "kg", .weight, "lb") == "177.0 lb")
        #expect(text(80.28584949, "kg", .leanBodyMass, "st") == "12 st 9 lb")
        #expect(text(80, "kg", .weight, "st") == "12 st 8.4 lb")
        #expect(text(3.2, "kg", .hcBoneMass, "st") == "7.1 lb", "bones are not weighed in stones")
        #expect(text(37, "degC", .bodyTemperature, "lb") == "37.0 °C")
        #expect(text(0.03, "g", .dietaryCaffeine, "lb") == "30 mg")
    }

    @Test func `stones and pounds carry over`() {
        // 139.96 lb is nearer to ten stone than to nine stone and 13.9 pounds.
        #expect(text(139.96 * 0.45359237, "kg", .weight, "st") == "10 st 0 lb")
        #expect(text(-80.28584949, "kg", .weight, "st") == "-12 st 9 lb")
        #expect(text(0.5, "kg", .weight, "st") == "1.1 lb")
        #expect(text(1e300, "kg", .weight, "st").hasSuffix(" lb"))
    }

    @Test func `a small value keeps two digits that say something`() {
        #expect(text(0.07170172084130019, "kcal", .activeEnergyBurned) == "0.072 kcal")
        #expect(text(72.6, "kcal", .activeEnergyBurned) == "73 kcal")
        #expect(text(5.44, "kcal", .activeEnergyBurned) == "5.4 kcal")
        #expect(text(9.96, "kcal", .activeEnergyBurned) == "10 kcal")
        #expect(text(0.00003, "g", .dietaryBiotin) == "30 µg")
        #expect(text(0, "kg", .weight) == "0.0 kg" && text(0, "kcal", .activeEnergyBurned) == "0 kcal")
        #expect(text(0.999, "kg", .weight) == "1.0 kg" && text(99.96, "kg", .weight) == "100.0 kg")
        #expect(text(-0.25, "degC", .appleSleepingWristTemperature) == "-0.25 °C")
    }

    @Test func `counts have no unit, fractions are percent, lengths what people use`() {
        #expect(text(12_345, "count", .stepCount) == "12345")
        #expect(text(0.182, "%", .bodyFatPercentage) == "18.2 %")
        #expect(text(0.97, "%", .oxygenSaturation) == "97 %")
        #expect(text(0.0008, "%", .bloodAlcoholContent) == "0.08 %")
        #expect(text(22.349, "count", .bodyMassIndex) == "22.3")
        #expect(text(1.785, "m", .height) == "178.5 cm" && text(1.8, "m", .height) == "180 cm")
        #expect(text(5_230, "m", .distanceWalkingRunning) == "5.23 km")
        #expect(text(62, "count/min", .heartRate) == "62 /min")
        #expect(text(5.4, "mmol<180.156>/L", .weight) == "5.4 mmol/L")
    }

    @Test func `a unit that is not the type's, and a type that only a plugin knows, stay as they are`() {
        #expect(DisplayUnit("lx", of: nil, reader: "lb").text(1.0 / 3) == "0.33 lx")
        #expect(DisplayUnit("kg", of: nil, reader: "lb").text(1) == "2.2 lb")
        #expect(text(160, "lb", .weight, "kg") == "160.0 lb")
        #expect(DisplayUnit("no unit", of: nil, reader: nil).text(1) == "1 no unit")
    }

    @Test func `more decimals tell two values apart`() {
        #expect(text(80.41, "kg", .weight, finer: 1) == "80.41 kg" && text(80.4, "kg", .weight, finer: 3) == "80.4 kg")
        #expect(text(80.28584949, "kg", .weight, "st", finer: 1) == "177.0 lb")
    }

    @Test func `no double is too large or too small to be shown`() {
        for value in [
            Double.leastNonzeroMagnitude, .greatestFiniteMagnitude, 1e15, 123_456_789_012_345.6, 1e-11, 5e-13,
        ] {
            #expect(text(value, "kg", .weight).hasSuffix(" kg") && text(-value, "kg", .weight).hasPrefix("-"))
        }
        #expect(text(1e15, "count", .stepCount) == "1000000000000000" && text(1e16, "count", .stepCount) == "1e+16")
        #expect(text(123_456_789_012_345.6, "kg", .weight) == "123456789012345.6 kg")
        #expect(text(.infinity, "kg", .weight) == "inf kg")
    }

    @Test func `every quantity of the registry is shown in a unit that is one`() throws {
        for type in TypeRegistry.standard.all {
            guard type.kind == .quantity, let unit = type.unit, let own = type.healthUnit else { continue }
            for reader in [nil, "kg", "lb", "st"] {
                #expect(!DisplayUnit(unit, of: type, reader: reader).text(1.5).isEmpty)
            }
            for shown in type.typicalDisplayUnits where !shown.contains("+") {
                #expect(try HealthUnit(shown).isCompatible(with: own), "\(type): \(shown)")
            }
        }
    }
}
