import Foundation
import Samples
import Testing

@testable import HealthText

/// Values as people read them.
@Suite struct ValueFormatTests {
    private func text(
        _ value: Double, _ unit: String, _ type: TypeID, _ weights: String? = nil, _ locale: String? = nil,
        units: [TypeID: String] = [:], _ width: TextWidth = .medium, finer: Int = 0
    ) -> String {
        let reader = DisplayPreferences(
            locale: locale.flatMap(DisplayPreferences.locale), units: units, weightUnit: weights)
        return ValueFormat(unit, of: TypeRegistry.standard.type(type), for: reader, width).text(value, finer: finer)
    }

    @Test func `a body weight is in the person's unit, and another value in the unit of its type`() {
        #expect(text(80.28584949, "kg", .weight) == "80.3 kg")
        #expect(text(80.28584949, "kg", .weight, "kg") == "80.3 kg")
        #expect(text(80.28584949, "kg", .weight, "lb") == "177.0 lb")
        #expect(text(80.28584949, "kg", .leanBodyMass, "st") == "12 st 9 lb")
        #expect(text(80, "kg", .weight, "st") == "12 st 8.4 lb")
        #expect(text(3.2, "kg", .hcBoneMass, "st") == "7.1 lb", "bone mass is shown in pounds, not in stones")
        #expect(text(37, "degC", .bodyTemperature, "lb") == "37.0 °C")
        #expect(text(0.03, "g", .dietaryCaffeine, "lb") == "30 mg")
    }

    @Test func `the unit of a type takes precedence over that of all weights, and both over the locale's`() {
        let units: [TypeID: String] = [
            .weight: "st", .height: "ft", .bloodGlucose: "mmol/L", .activeEnergyBurned: "kJ",
        ]
        #expect(text(80.28584949, "kg", .weight, "lb", "de_DE", units: units) == "12 st 9 lb")
        #expect(text(80.28584949, "kg", .leanBodyMass, "lb", "de_DE", units: units) == "177,0 lb")
        #expect(text(1.778, "m", .height, nil, "de_DE", units: units) == "5 ft 10 in")
        #expect(text(90.07794, "mg/dL", .bloodGlucose, nil, "de_DE", units: units) == "5,0 mmol/L")
        #expect(text(100, "kcal", .activeEnergyBurned, nil, "en_US", units: units) == "418 kJ")
        #expect(text(1.778, "m", .height, nil, "en_US", units: [.height: "m"]) == "1.78 m")
        #expect(text(1.778, "m", .height, nil, "en_US", units: [.height: "in"]) == "70 in")
    }

    @Test(arguments: [
        ("en_US", "177.0 lb", "5 ft 10 in", "98.6 °F", "3.11 mi", "90 mg/dL", "1,200 kcal"),
        ("en_GB", "80.3 kg", "5 ft 10 in", "37.0 °C", "3.11 mi", "5.0 mmol/L", "1,200 kcal"),
        ("de_DE", "80,3 kg", "177,8 cm", "37,0 °C", "5 km", "90 mg/dL", "1.200 kcal"),
        ("fr_FR", "80,3 kg", "177,8 cm", "37,0 °C", "5 km", "90 mg/dL", "1\u{202F}200 kcal"),
        ("es_ES", "80,3 kg", "177,8 cm", "37,0 °C", "5 km", "90 mg/dL", "1200 kcal"),
        ("ja_JP", "80.3 kg", "177.8 cm", "37.0 °C", "5 km", "90 mg/dL", "1,200 kcal"),
        ("en", "80.3 kg", "177.8 cm", "37.0 °C", "5 km", "90 mg/dL", "1,200 kcal"),
    ])
    func `a locale has its separators, and the units usual in its region`(
        _ locale: String, _ weight: String, _ height: String, _ temperature: String, _ way: String, _ glucose: String,
        _ energy: String
    ) {
        #expect(text(80.28584949, "kg", .weight, nil, locale) == weight)
        #expect(text(1.778, "m", .height, nil, locale) == height)
        #expect(text(37, "degC", .bodyTemperature, nil, locale) == temperature)
        #expect(text(5_000, "m", .distanceWalkingRunning, nil, locale) == way)
        #expect(text(90.07794, "mg/dL", .bloodGlucose, nil, locale) == glucose)
        #expect(text(1_200, "kcal", .activeEnergyBurned, nil, locale) == energy)
    }

    @Test func `seed 004: height in inches and weight in pounds, with the labels inches and pounds`() {
        let units: [TypeID: String] = [.height: "in", .weight: "lb"]
        #expect(text(1.778, "m", .height, units: units, .long) == "70 inches")
        #expect(text(80, "kg", .weight, units: units, .long) == "176.4 pounds")
        let formatter = HealthFormatter(Locale(identifier: "en_US"), .long)
        #expect(formatter.label(10, .inch) == "inches" && formatter.label(10, .pound) == "pounds")
        #expect(formatter.label(1, .inch) == "inch" && formatter.label(1, .pound) == "pound")
        var reader = DisplayPreferences(units: units)
        reader.unitWidth = .long
        #expect(reader.format("m", of: .height).text(1.778) == "70 inches")
    }

    @Test func `seed 004: numbers have the decimals of their type, and 70.5 is not 70`() {
        #expect(text(70.5, "kg", .weight) == "70.5 kg" && text(71.5, "kg", .weight) == "71.5 kg")
        #expect(
            text(70.5, "kcal", .activeEnergyBurned) == "71 kcal" && text(71.5, "kcal", .activeEnergyBurned) == "72 kcal"
        )
    }

    @Test func `two units together carry over`() {
        // 139.96 lb is nearer to ten stone than to nine stone and 13.9 pounds.
        #expect(text(139.96 * 0.45359237, "kg", .weight, "st") == "10 st")
        #expect(text(-80.28584949, "kg", .weight, "st") == "-12 st 9 lb")
        #expect(text(0.5, "kg", .weight, "st") == "1.1 lb")
        #expect(text(1e300, "kg", .weight, "st").hasSuffix(" st"))
        let units: [TypeID: String] = [.height: "ft", .appleExerciseTime: "hr"]
        #expect(text(1.8287, "m", .height, units: units) == "6 ft 0 in")
        #expect(text(119.7, "min", .appleExerciseTime, units: units) == "2 h")
        #expect(text(95, "min", .appleExerciseTime, units: units) == "1 h 35 min")
        #expect(text(35, "min", .appleExerciseTime, units: units) == "35 min")
    }

    @Test func `a narrow and a wide text have their own words, in singular and plural`() {
        #expect(text(80.25, "kg", .weight, nil, "de_DE", .long) == "80,3 kilograms")
        #expect(text(80.25, "kg", .weight, nil, nil, .short) == "80.3kg")
        #expect(text(1, "min", .appleExerciseTime, nil, nil, .long) == "1 minute")
        #expect(text(62, "count/min", .heartRate, nil, nil, .long) == "62 per minute")
        #expect(text(0.182, "%", .bodyFatPercentage, nil, "fr_FR", .long) == "18,2 percent")
        #expect(text(0.182, "%", .bodyFatPercentage, nil, nil, .short) == "18.2%")
        #expect(text(80.28584949, "kg", .weight, "st", nil, .long) == "12 stones 9 pounds")
    }

    @Test func `a small value keeps two significant digits`() {
        #expect(text(0.07170172084130019, "kcal", .activeEnergyBurned) == "0.072 kcal")
        #expect(text(72.6, "kcal", .activeEnergyBurned) == "73 kcal")
        #expect(text(5.44, "kcal", .activeEnergyBurned) == "5.4 kcal")
        #expect(text(9.96, "kcal", .activeEnergyBurned) == "10 kcal")
        #expect(text(0.00003, "g", .dietaryBiotin) == "30 µg")
        #expect(text(0, "kg", .weight) == "0.0 kg" && text(0, "kcal", .activeEnergyBurned) == "0 kcal")
        #expect(text(0.999, "kg", .weight) == "1.0 kg" && text(99.96, "kg", .weight) == "100.0 kg")
        #expect(text(-0.25, "degC", .appleSleepingWristTemperature) == "-0.25 °C")
    }

    @Test func `counts have no unit, fractions are percent, and lengths are in everyday units`() {
        #expect(text(12_345, "count", .stepCount) == "12,345")
        #expect(text(0.182, "%", .bodyFatPercentage) == "18.2 %")
        #expect(text(0.97, "%", .oxygenSaturation) == "97 %")
        #expect(text(0.0008, "%", .bloodAlcoholContent) == "0.08 %")
        #expect(text(22.349, "count", .bodyMassIndex) == "22.3")
        #expect(text(1.785, "m", .height) == "178.5 cm" && text(1.8, "m", .height) == "180 cm")
        #expect(text(5_230, "m", .distanceWalkingRunning) == "5.23 km")
        #expect(text(62, "count/min", .heartRate) == "62 /min")
        #expect(text(5.4, "mmol<180.156>/L", .weight) == "5.4 mmol/L")
    }

    @Test func `a unit of another kind, and a type of a plugin, stay as they are`() {
        func plain(_ value: Double, _ unit: String, _ weights: String?) -> String {
            ValueFormat(unit, of: nil, for: DisplayPreferences(weightUnit: weights)).text(value)
        }
        #expect(plain(1.0 / 3, "lx", "lb") == "0.33 lx")
        #expect(plain(1, "kg", "lb") == "2.2 lb")
        #expect(text(160, "lb", .weight, "kg") == "160.0 lb")
        #expect(plain(1, "no unit", nil) == "1 no unit")
        #expect(
            text(3, "min", .weight, units: [.weight: "st"]) == "3 min", "a duration does not convert to a unit of mass")
    }

    @Test func `more decimals distinguish two values`() {
        #expect(text(80.41, "kg", .weight, finer: 1) == "80.41 kg" && text(80.4, "kg", .weight, finer: 3) == "80.4 kg")
        #expect(text(80.28584949, "kg", .weight, "st", finer: 1) == "12 st 9 lb")
        #expect(text(80.29584949, "kg", .weight, "st", finer: 1) == "12 st 9.02 lb")
        #expect(text(0.18217, "%", .bodyFatPercentage, finer: 12) == "18.217 %")
    }

    @Test func `no double is too large or too small to be shown`() {
        for value in [
            Double.leastNonzeroMagnitude, .greatestFiniteMagnitude, 1e15, 123_456_789_012_345.6, 1e-11, 5e-13,
        ] {
            #expect(text(value, "kg", .weight).hasSuffix(" kg") && text(-value, "kg", .weight).hasPrefix("-"))
        }
        #expect(
            text(1e15, "count", .stepCount) == "1,000,000,000,000,000" && text(1e16, "count", .stepCount) == "1e+16")
        #expect(text(123_456_789_012_345.6, "kg", .weight) == "123,456,789,012,345.6 kg")
        #expect(text(.infinity, "kg", .weight) == "inf kg" && text(.nan, "%", .bodyFatPercentage) == "nan %")
    }

    @Test func `every quantity of the registry is shown in a compatible unit, in every region`() throws {
        for type in TypeRegistry.standard.all {
            guard type.kind == .quantity, let unit = type.unit, let own = type.healthUnit else { continue }
            for weights in [nil, "kg", "lb", "st"] {
                for locale in [nil, "en_US", "en_GB", "de_DE", "en_CA"] {
                    let reader = DisplayPreferences(
                        locale: locale.flatMap(DisplayPreferences.locale), weightUnit: weights)
                    let shown = reader.unit(unit, of: type)
                    #expect(try type.meant(by: shown).isCompatible(with: own), "\(type): \(shown)")
                    #expect(!ValueFormat(unit, of: type, for: reader).text(1.5).isEmpty)
                }
            }
            for shown in type.typicalDisplayUnits where !shown.contains("+") {
                #expect(try HealthUnit(shown).isCompatible(with: own), "\(type): \(shown)")
            }
        }
    }

    @Test(arguments: [
        ("en_US", "Mar 5, 2026"), ("en_GB", "5 Mar 2026"), ("de_DE", "5. März 2026"), ("fr_FR", "5 mars 2026"),
        ("es_ES", "5 mar 2026"), ("ja_JP", "2026年3月5日"), ("th_TH", "5 มี.ค. 2026"),
    ])
    func `a date has the month in the words of the locale, in our calendar`(_ locale: String, _ text: String) throws {
        let day = try #require(LocalDate(2026, 3, 5))
        #expect(
            DisplayPreferences(locale: DisplayPreferences.locale(locale)).date(day).replacing("ค.ศ. ", with: "") == text
        )
        #expect(DisplayPreferences().date(day) == "2026-03-05")
        #expect(
            try DisplayPreferences(locale: DisplayPreferences.locale(locale)).date(#require(LocalDate(1066, 10, 14)))
                == "1066-10-14")
    }

    @Test func `a locale is an existing language and possibly an existing region`() {
        for name in ["de_DE", "de-DE", "de_DE.UTF-8", "ca_ES@valencia", "en", "zh_Hant_TW", "zh_Hant", "es_419"] {
            #expect(DisplayPreferences.locale(name) != nil, "\(name)")
        }
        for name in ["C", "POSIX", "C.UTF-8", "", "xx_DE", "de_XY", "de_DE_more_of_it", "german"] {
            #expect(DisplayPreferences.locale(name) == nil, "\(name)")
        }
        #expect(
            DisplayPreferences.machineLocale(["LANG": "en_US.UTF-8", "LC_MEASUREMENT": "de_DE.UTF-8"])?.region?
                .identifier == "DE")
        #expect(DisplayPreferences.machineLocale(["LANG": "en_US.UTF-8", "LC_ALL": "C"]) == nil)
        #expect(DisplayPreferences.machineLocale(["LC_ALL": "", "LANG": "ja_JP"])?.region?.identifier == "JP")
        #expect(DisplayPreferences.machineLocale([:]) == nil)
    }

    @Test func `a program gets the units in which a person differs from most`() {
        #expect(DisplayPreferences().ownUnits == [:])
        #expect(
            DisplayPreferences(units: [.weight: "kg"]).ownUnits == [.weight: "kg"],
            "a chosen unit is sent even if it is the default")
        let american = DisplayPreferences(locale: DisplayPreferences.locale("en_US"), units: [.weight: "st"]).ownUnits
        #expect(american[.weight] == "st" && american[.leanBodyMass] == "lb" && american[.height] == "ft")
        #expect(american[.bodyTemperature] == "degF" && american[.heartRate] == nil)
        #expect(DisplayPreferences(locale: DisplayPreferences.locale("sv_SE")).ownUnits == [.bloodGlucose: "mmol/L"])
    }

    @Test func `every unit has the decimals that its row of Docs/Samples.md says`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Docs/Samples.md")
        let forms = ["always 1": 1...1, "up to 1": 0...1, "none": 0...0]
        var said: [String: ClosedRange<Int>] = [:]
        for line in try String(contentsOf: file.standardizedFileURL, encoding: .utf8).split(separator: "\n") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 2, let decimals = forms[cells[0]] else { continue }
            for unit in cells[1].split(separator: " ") { said[unit.filter { $0 != "`" }] = decimals }
        }
        #expect(said == ValueFormat.decimals)
    }
}
