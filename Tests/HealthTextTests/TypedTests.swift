import Foundation
import HealthText
import Samples
import Testing

/// Values and times as people type them.
@Suite struct TypedTests {
    private func value(_ text: String, _ type: String) throws -> ValueArgument {
        try ValueArgument(text.split(separator: " ").map(String.init), of: TypeRegistry.standard.resolve(type))
    }

    @Test(arguments: [
        ("80.4kg", "weight", 80.4, "kg"), ("80.4 kg", "weight", 80.4, "kg"), ("80,4kg", "weight", 80.4, "kg"),
        ("177lbs", "weight", 177, "lb"), ("80.4KG", "weight", 80.4, "kg"), ("12st 8lb", "weight", 176, "lb"),
        ("12st8lb", "weight", 176, "lb"), ("5000", "stepCount", 5000, "count"), ("62", "heartRate", 62, "count/min"),
        ("62bpm", "heartRate", 62, "count/min"), ("18.2%", "bodyFatPercentage", 0.182, "%"),
        ("36,8 °C", "bodyTemperature", 36.8, "degC"), ("0,455kg", "weight", 0.455, "kg"),
        ("42 mL/kg·min", "vo2Max", 42, "mL/kg·min"), ("5.4 mmol/L", "bloodGlucose", 5.4, "mmol/L"),
        ("16/min", "respiratoryRate", 16, "count/min"), ("30µg", "dietaryBiotin", 30, "mcg"),
        ("12.5 km/h", "runningSpeed", 12.5, "km/hr"), ("5ft10in", "height", 70, "in"),
        ("5 ft 10 in", "height", 70, "in"),
        ("5'10\"", "height", 70, "in"), ("5' 10.5\"", "height", 70.5, "in"), ("5′10″", "height", 70, "in"),
        ("6'", "height", 6, "ft"), ("300J", "dietaryEnergyConsumed", 300, "J"),
    ])
    func `a quantity is read with its unit`(_ text: String, _ type: String, _ number: Double, _ unit: String) throws {
        #expect(try value(text, type) == .quantity(number, unit: unit))
    }

    @Test func `a separator before three digits is read as type and language allow, or refused`()
        throws
    {
        func value(_ text: String, _ type: String, _ locale: String?) throws -> ValueArgument {
            try ValueArgument(
                [text], of: TypeRegistry.standard.resolve(type),
                for: DisplayPreferences(locale: locale.map(Locale.init(identifier:))))
        }
        for locale in ["de", "en", nil] {
            // No person weighs 80 tonnes.
            for text in ["80.455kg", "80,455kg"] {
                #expect(try value(text, "weight", locale) == .quantity(80.455, unit: "kg"))
            }
            // Steps have no thousandths, but the hub prints 8.500 in German.
            for text in ["8.500", "8,500"] {
                let fault = try #require(throws: EntryError.self) { try value(text, "stepCount", locale) }
                #expect("\(fault)".contains("write 8.5 or 8500"))
            }
            #expect(throws: EntryError.self) { try value("1,500mL", "dietaryWater", locale) }
            #expect(try value("1500mL", "dietaryWater", locale) == .quantity(1500, unit: "mL"))
        }
        // The only possible number must also be likely.
        #expect(throws: EntryError.self) { try value("1,050", "heartRate", "en") }
        #expect(try value("18,125%", "bodyFatPercentage", "de") == .quantity(0.18125, unit: "%"))
        #expect(try value("3.125", "uvExposure", "en") == .quantity(3.125, unit: "count"))
        #expect(throws: EntryError.self) { try value("1.500mL", "dietaryWater", "de") }
        #expect(try value("1.500mL", "dietaryWater", "en") == .quantity(1.5, unit: "mL"))
        #expect(try value("0.125L", "dietaryWater", "de") == .quantity(0.125, unit: "L"))
    }

    @Test func `a blood pressure is read as a pair, and a category as a name`() throws {
        #expect(try value("120/80", "bloodPressure") == .several([120, 80], unit: "mmHg"))
        #expect(try value("16/10.7 kPa", "bloodPressure") == .several([16, 10.7], unit: "kPa"))
        #expect(try value("AsleepCore", "sleepAnalysis") == .name("asleepCore"))
        #expect(try value("running", "workout") == .name("running"))
    }

    @Test(arguments: [
        ("8am", 8, 0), ("8:15 pm", 20, 15), ("8:15 p.m.", 20, 15), ("12am", 0, 0), ("12:30 PM", 12, 30),
        ("yesterday 8am", 8, 0), ("yesterday at 8:15 pm", 20, 15), ("2024-03-15 8:15PM", 20, 15),
    ])
    func `a time is read by a twelve-hour clock`(_ text: String, _ hour: Int64, _ minute: Int64) throws {
        let noon = try Timestamp(parsing: "2024-03-17T23:30:00Z").microseconds
        let berlin = try #require(TimeZone(identifier: "GMT"))
        let reading = try #require(MomentArgument(text)).reading(now: noon, in: berlin)
        guard case .one(let time, _) = reading else { throw EntryError("two instants") }
        #expect(time.microseconds / 60_000_000 % 1_440 == hour * 60 + minute)
        for wrong in ["13pm", "0am", "8:15 xm", "am", "8:5pm"] { #expect(MomentArgument(wrong) == nil, "\(wrong)") }
    }

    @Test func `a number after another unit needs its own unit`() throws {
        let stones = DisplayPreferences(units: [.weight: "st"])
        #expect(throws: EntryError.self) {
            try ValueArgument(["12st", "4"], of: TypeRegistry.standard.type(.weight), for: stones)
        }
        #expect(
            try ValueArgument(["12st", "4lb"], of: TypeRegistry.standard.type(.weight), for: stones)
                == .quantity(172, unit: "lb"))
    }

    @Test(arguments: [
        ("Asleep core", "sleepAnalysis", "asleepCore"), ("asleep rem", "sleepAnalysis", "asleepREM"),
        ("A+", "bloodType", "aPositive"), ("ab-", "bloodType", "abNegative"), ("not present", "acne", "notPresent"),
    ])
    func `a value is read by the words that the page and the commands show`(
        _ text: String, _ type: String, _ name: String
    ) throws {
        #expect(try value(text, type) == .name(name))
        #expect(WorkoutActivity.meant(by: "High intensity interval training")?.name == "highIntensityIntervalTraining")
    }

    @Test(arguments: [
        ("81foo", "weight", "there is no unit foo; weight is given in kg"),
        // Seed 004: either the whole text is used, or nothing is saved.
        ("70x", "weight", "there is no unit x"), ("70kg x", "weight", "expected a number"),
        ("tall", "height", "expected a number"), ("5'10", "height", "10 of what?"),
        ("80.4", "weight", "weight is given in kg"), ("1,250", "stepCount", "write 1.25 or 1250"),
        ("1,234.5kg", "weight", "without separators between thousands"), ("", "weight", "80.4kg"),
        ("kg", "weight", "expected a number"),
        ("120", "bloodPressure", "such as 120/80"), ("asleepish", "sleepAnalysis", "it has In bed"),
        ("80 kgg", "weight", "kg"), ("0.182", "bodyFatPercentage", "18.2%"),
        ("1e400kg", "weight", "without an exponent, such as 80.4kg"), ("-80kg", "weight", "never negative"),
        ("80/120", "bloodPressure", "the greater one, comes first"),
        ("12st 15lb", "weight", "less than 1st"), ("5ft12in", "height", "less than 1ft"),
        ("8lb 12st", "weight", "less than 1lb"), ("5ft -3in", "height", "at least 0"),
        ("-120/80", "bloodPressure", "never negative"), ("-1", "stepCount", "never negative"),
        ("Ham Sandwich", "food", "food is a group of records and has no value; edit its members"),
    ])
    func `what is not clear is refused with what to type`(_ text: String, _ type: String, _ hint: String) throws {
        let failure = try #require(throws: EntryError.self) { try value(text, type) }
        #expect(failure.message.contains(hint), "\(failure.message)")
    }

    @Test func `a temperature may be below zero`() throws {
        #expect(try value("-0.3 degC", "appleSleepingWristTemperature") == .quantity(-0.3, unit: "degC"))
    }

    private let berlin = TimeZone(identifier: "Europe/Berlin") ?? .gmt
    /// 2026-11-21 12:00 in Berlin.
    private let noon: Int64 = 1_795_258_800_000_000

    private func reading(_ text: String) throws -> MomentArgument.Reading {
        try #require(MomentArgument(text)).reading(now: noon, in: berlin)
    }

    @Test(arguments: [
        ("7:30", "2026-11-21T07:30:00+01:00"), ("today 7:30", "2026-11-21T07:30:00+01:00"),
        ("yesterday 07:30:05", "2026-11-20T07:30:05+01:00"), ("2024-07-15 07:30", "2024-07-15T07:30:00+02:00"),
        ("2024-07-15T07:30", "2024-07-15T07:30:00+02:00"), ("90min", "2026-11-21T10:30:00+01:00"),
        ("2h", "2026-11-21T10:00:00+01:00"), ("now", "2026-11-21T12:00:00+01:00"),
        ("2 hours ago", "2026-11-21T10:00:00+01:00"), ("2 days ago 7:30", "2026-11-19T07:30:00+01:00"),
        ("last monday 7:30", "2026-11-16T07:30:00+01:00"),
        ("last Saturday 7:30", "2026-11-14T07:30:00+01:00"),
        ("18.10.1974 7:30", "1974-10-18T07:30:00+01:00"), ("15.7.2024, 7:30", "2024-07-15T07:30:00+02:00"),
        ("yesterday at 7:30", "2026-11-20T07:30:00+01:00"), ("8am yesterday", "2026-11-20T08:00:00+01:00"),
        ("8 a.m. yesterday", "2026-11-20T08:00:00+01:00"), ("7:30 on last monday", "2026-11-16T07:30:00+01:00"),
        ("20.11. 23:10", "2026-11-20T23:10:00+01:00"), ("22.11. 23:10", "2025-11-22T23:10:00+01:00"),
        ("29.2. 7:30", "2024-02-29T07:30:00+01:00"),
    ])
    func `a time is in the person's zone`(_ text: String, _ expected: String) throws {
        #expect(try reading(text) == .one(try Timestamp(parsing: expected), isLocal: true))
    }

    @Test(arguments: [
        ("18.10.1974", "1974-10-18T12:00:00+01:00"), ("2024-07-15", "2024-07-15T12:00:00+02:00"),
        ("last monday", "2026-11-16T12:00:00+01:00"), ("1.3.", "2026-03-01T12:00:00+01:00"),
        ("today", "2026-11-21T12:00:00+01:00"),
    ])
    func `a day without a time is its noon, and can be refused`(_ text: String, _ expected: String) throws {
        #expect(try reading(text) == .one(try Timestamp(parsing: expected), isLocal: true))
        let morning = noon - 6 * 3_600_000_000
        let early = try #require(MomentArgument("today")).reading(now: morning, in: berlin)
        #expect(early == .one(try Timestamp(parsing: "2026-11-21T06:00:00+01:00"), isLocal: true))
        #expect(throws: EntryError.self) { try #require(MomentArgument(text)).refuseDay() }
        #expect(throws: Never.self) { try #require(MomentArgument("7:30")).refuseDay() }
    }

    @Test func `a number without a unit is in the unit that the person reads`() throws {
        func plain(_ text: String, _ type: String, _ reader: DisplayPreferences) throws -> ValueArgument {
            try ValueArgument([text], of: TypeRegistry.standard.resolve(type), for: reader)
        }
        #expect(try plain("82", "weight", DisplayPreferences()) == .quantity(82, unit: "kg"))
        #expect(try plain("180,5", "weight", DisplayPreferences(weightUnit: "lb")) == .quantity(180.5, unit: "lb"))
        let glucose = DisplayPreferences(units: [.bloodGlucose: "mmol<180.15588000005408>/L"])
        #expect(
            try plain("5.4", "bloodGlucose", glucose) == .quantity(5.4, unit: "mmol<180.15588000005408>/L"))
        #expect(try plain("24.5", "bodyFatPercentage", DisplayPreferences()) == .quantity(0.245, unit: "%"))
        #expect(try plain("0.245%", "bodyFatPercentage", DisplayPreferences()) == .quantity(0.00245, unit: "%"))
        for (text, meanings) in [("0.245", "0.245% or 24.5%"), ("1", "1% or 100%"), ("0,97", "0.97% or 97%")] {
            let fault = #expect(throws: EntryError.self) { try plain(text, "oxygenSaturation", DisplayPreferences()) }
            #expect(fault?.message == "\"\(text)\" can be \(meanings); write the one that you mean")
        }
    }

    @Test(arguments: [
        ("steps", "stepCount"), ("sleep", "sleepAnalysis"), ("mood", "stateOfMind"), ("Heart Rate", "heartRate"),
        ("heart-rate", "heartRate"), ("pulse", "heartRate"), ("body fat", "bodyFatPercentage"),
        ("BMI", "bodyMassIndex"), ("blood pressure", "bloodPressure"), ("caffeine", "dietaryCaffeine"),
        ("vitamin c", "dietaryVitaminC"), ("weight", "weight"), ("STEPCOUNT", "stepCount"), ("water", "dietaryWater"),
    ])
    func `types are found by their everyday names`(_ name: String, _ type: String) {
        #expect(EverydayNames.type(name)?.id.rawValue == type)
    }

    @Test func `each everyday name belongs to one type, and a name of several types to none`() {
        for type in TypeRegistry.standard.all {
            for name in EverydayNames.names(of: type) { #expect(EverydayNames.type(name)?.id == type.id, "\(name)") }
        }
        #expect(EverydayNames.type("calories") == nil && EverydayNames.type("hrv") == nil)
        #expect(EverydayNames.type("wieght") == nil)
    }

    @Test func `a skipped hour is refused, and a repeated hour is distinguished by its offset`() throws {
        #expect(throws: EntryError.self) { try reading("2026-03-29 02:30") }
        let (first, second) = ("2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00")
        #expect(
            try reading("2026-10-25 02:30") == .two(try Timestamp(parsing: first), try Timestamp(parsing: second)))
        #expect(
            try reading("2026-10-25 2:30+01:00") == .one(try Timestamp(parsing: second), isLocal: false))
        #expect(throws: EntryError.self) { try reading("23:59") }
        for text in ["9999-12-31 23:59", "0001-01-01 00:00"] {
            #expect(throws: EntryError.self, "\(text)") { try reading(text) }
        }
        for text in [
            "", "7", "25:00", "7:60", "monday 7:30", "2026-02-30 07:30", "30.2. 7:30", "13.", "1.13.", "7:30 monday",
            "min",
        ] {
            #expect(MomentArgument(text) == nil, "\(text)")
        }
    }
}
