import Foundation
import JSON
import PhonePayloads
import Samples
import Testing

/// Times, numbers and units as phones print them in other languages.
@Suite struct OtherLanguageTests {
    /// A formatter like that of a phone with this language, five hours west of Greenwich.
    private static func formatter(_ locale: String, _ pattern: String) -> DateFormatter {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: locale)
        formatter.calendar = Calendar(identifier: .gregorian)
        formatter.timeZone = TimeZone(secondsFromGMT: -18_000)
        formatter.dateFormat = pattern
        return formatter
    }

    /// The times of Health Auto Export's points with these dates, followed by the rejections.
    private static func instants(_ texts: [String]) throws -> [String] {
        let points = texts.enumerated().map { #"{"date":"\#($1)","qty":\#(80 + $0),"source":"S"}"# }
        let reading = try Reading(metric: "weight_body_mass", "kg", points)
        return reading.samples.map { Timestamp(microseconds: $0.start.microseconds).text } + reading.faults
    }

    @Test(arguments: ["yyyy-MM-dd h:mm:ss a Z", "yyyy-MM-dd a h:mm:ss Z", "yyyy-MM-dd ah:mm:ss Z"])
    func `A time on a twelve-hour clock is read in each language of the CLDR, with its word in front or behind`(
        pattern: String
    ) throws {
        let times = ["2026-11-20T12:57:00Z", "2026-11-20T17:35:00Z", "2026-11-21T00:58:00Z", "2026-11-21T05:01:00Z"]
        let dates = try times.map { Date(timeIntervalSince1970: Double(try Timestamp(parsing: $0).microseconds) / 1e6) }
        var count = 0
        for locale in Locale.availableIdentifiers.sorted() {
            let formatter = Self.formatter(locale, pattern)
            // No phone uses these languages; their letters mean the other half of the day in Finnish and Albanian.
            let isOther = ["smn", "mrh", "kab", "gd"].contains(where: locale.hasPrefix)
            guard formatter.amSymbol.lowercased() != formatter.pmSymbol.lowercased(), !isOther else { continue }
            count += 1
            let texts = dates.map(formatter.string)
            #expect(try Self.instants(texts) == times, "\(locale): \(texts)")
        }
        #expect(count > 300)
    }

    @Test(
        arguments: [
            ("2026-11-20 7:57:00 a. m. -0500", "2026-11-20T12:57:00Z"),
            ("2026-11-20 7:57:00\u{202F}a.\u{A0}m. -0500", "2026-11-20T12:57:00Z"),
            ("2026-11-20 12:05:00 p. m. -0600", "2026-11-20T18:05:00Z"),
            ("2026-11-20 오전 7:57:00 +0900", "2026-11-19T22:57:00Z"),
            ("2026-11-20 下午7:57:00 +0800", "2026-11-20T11:57:00Z"),
            ("2026-11-20 7:57:00\u{A0}π.μ. +0200", "2026-11-20T05:57:00Z"),
            ("2026-11-20 7:57:00 μ.μ. +0200", "2026-11-20T17:57:00Z"), ("2026-11-20 7.57 ip. +0200", nil),
            ("٢٠٢٦-١١-٢٠ ٧:٥٧:٠٠ م +٠٣٠٠", "2026-11-20T16:57:00Z"),
            ("२०२६-११-२० १९:५७:०० +०५३०", "2026-11-20T14:27:00Z"),
            ("\u{200F}2026-11-20 7:57:00 PM \u{200E}+0200", "2026-11-20T17:57:00Z"),
            ("2026-11-20 7:57:00 nachts +0100", nil), ("2026-11-20 7:57:00 abends +0100", "2026-11-20T18:57:00Z"),
            ("2026-11-20 午後0:05:00 +0900", "2026-11-20T03:05:00Z"),
            ("2026-11-20 午前0:05:00 +0900", "2026-11-19T15:05:00Z"),
            ("2026-11-20 凌晨12:05:00 +0800", "2026-11-19T16:05:00Z"),
            ("2026-11-20 晚上8:05:00 +0800", "2026-11-20T12:05:00Z"), ("2026-11-20 晚上12:05:00 +0800", nil),
            ("2026-11-20 中午12:05:00 +0800", "2026-11-20T04:05:00Z"), ("2026-11-20 中午11:30:00 +0800", nil),
            ("2026-11-20 8:05:00 de la noche -0500", "2026-11-21T01:05:00Z"),
            ("2026-11-20 12:05:00 m. -0500", nil), ("2026-11-20 8:05:00 f +0100", "2026-11-20T19:05:00Z"),
            ("5787-03-10 07:57:00 +0200", nil), ("1743-03-11 07:57:00 +0200", nil),
            ("2026-11-20 13:57:00 p. m. +0100", nil),
            ("2569-11-20 7:57:00 am +0700", "2026-11-20T00:57:00Z"),
            ("๒๕๖๗-๐๒-๒๙ ๐๗:๕๗:๐๐ +๐๗๐๐", "2024-02-29T00:57:00Z"),
            ("1405-08-29 07:57:00 +0330", nil), ("۱۴۰۵-۰۸-۲۹ ۰۷:۵۷:۰۰ +۰۳۳۰", nil), ("1448-06-09 07:57:00 +0300", nil),
            ("0115-11-20 07:57:00 +0800", nil), ("0008-11-20 07:57:00 +0900", nil),
            ("2026-11-20 오전 7:57:00 오후 +0900", nil), ("2026-11-31 7:57:00 a. m. +0100", nil),
        ] as [(String, String?)])
    func `A time is read as the phone printed it, or refused`(text: String, instant: String?) throws {
        let found = try Self.instants([text])
        #expect(found == [instant ?? "/data/metrics/0/data/0 time"])
    }

    @Test(
        arguments: [
            ("step_count", "pas", "count"), ("step_count", "Schritte", "count"), ("step_count", "歩", "count"),
            ("step_count", "шагов", "count"), ("step_count", "خطوة", "count"), ("flights_climbed", "étages", "count"),
            ("heart_rate", "lpm", "count/min"), ("heart_rate", "ppm", "count/min"),
            ("heart_rate", "уд/мин", "count/min"),
            ("heart_rate", "Schläge/min", "count/min"), ("heart_rate", "battements par minute", "count/min"),
            ("heart_rate", "次/分", "count/min"), ("heart_rate", "BPM", nil), ("weight_body_mass", "кг", "kg"),
            ("weight_body_mass", "公斤", "kg"), ("weight_body_mass", "KG", "kg"), ("weight_body_mass", "Pounds", "lb"),
            ("active_energy", "ккал", "kcal"), ("active_energy", "千卡", "kcal"), ("walking_speed", "км/ч", "km/hr"),
            ("walking_running_distance", "км", "km"), ("body_temperature", "°C", "degC"),
            ("body_temperature", "℃", "degC"),
            ("body_temperature", "° F", "degF"), ("blood_glucose", "ммоль/л", "mmol<180.15588000005408>/L"),
            ("blood_glucose", "mg/dl", "mg/dL"), ("dietary_water", "мл", "mL"), ("caffeine", "Mg", "mg"),
            ("body_mass_index", "kg/m²", "count"), ("step_count", "km", nil), ("step_count", "%", nil),
            ("body_mass_index", "percent", nil),
            ("apple_exercise_time", "saat", nil), ("walking_speed", "km/saat", nil), ("step_count", "Tsd.", nil),
            ("walking_running_distance", "pas", nil), ("weight_body_mass", "°", nil), ("heart_rate", "pas", nil),
        ] as [(String, String, String?)])
    func `A unit is read in the phone's language, or the points are refused`(
        metric: String, word: String, unit: String?
    ) throws {
        let value = word == "° F" ? 98 : metric == "body_temperature" ? 37 : metric == "body_mass_index" ? 24 : 80
        let reading = try Reading(
            metric: metric, word, [#"{"date":"2026-11-20 07:00:00 +0100","qty":\#(value),"source":"S"}"#])
        // BPM is read like bpm.
        guard let unit = word == "BPM" ? "count/min" : unit else {
            return #expect(reading.faults == ["/data/metrics/0/data/0 unit"] && reading.samples.isEmpty)
        }
        #expect(reading.rejected == [] && reading.verdicts() == [])
        guard case .quantity(_, let found)? = reading.samples.first?.value else {
            return #expect(Bool(false), "no quantity")
        }
        #expect(try HealthUnit(found) == HealthUnit(unit), "\(found)")
    }

    @Test(
        arguments: [
            ("1234", "1234"), ("1 234", "1234"), ("1\u{A0}234", "1234"), ("12\u{202F}345", "12345"), ("1'234", "1234"),
            ("1’234", "1234"), ("1.234.567", "1234567"), ("1,234,567", "1234567"), ("1.234,5", "1234.5"),
            ("1,234.5", "1234.5"), ("1 234,5", "1234.5"), ("٨٠٫٤", "80.4"), ("١٬٢٣٤", "1234"), ("१२३४", "1234"),
            ("1234,5", "1234.5"), ("0,125", "0.125"), ("080", "80"), ("+12", "12"), ("12.3456", "12.3456"),
            ("1,234", nil), ("1.234", nil), ("12,345", nil), ("1.23.456", nil), ("1,23,456", nil), ("12 34", nil),
            ("1.234,567.8", nil), ("1,234 567", nil), ("12 Schritte", nil), ("1e3", nil), ("", nil), ("٨0", nil),
            ("1-2", nil),
        ] as [(String, String?)])
    func `A number in a text is read by its separators, and refused if they are ambiguous`(
        text: String, number: String?
    ) throws {
        let reading = try Reading(
            #"{"type":"stepCount","value":"\#(text)","start":"2026-11-20T07:00:00Z","end":"2026-11-20T08:00:00Z"}"#,
            .plain)
        guard let number else { return #expect(reading.faults == [" value"]) }
        guard case .quantity(let value, _)? = reading.samples.first?.value else {
            return #expect(Bool(false), "\(reading.rejected)")
        }
        #expect(value == Double(number) && reading.verdicts() == [])
    }

    @Test func `Three digits after a separator are a fraction if the type has no value of thousands`() throws {
        let reading = try Reading(#"{"weight":"80.400"}"#, .plain)
        guard case .quantity(let value, let unit)? = reading.samples.first?.value else { return #expect(Bool(false)) }
        #expect(value == 80.4 && unit == "kg")
    }

    @Test(arguments: [("hr", 1), ("Std.", 1), ("Stunden", 1), ("", 1), ("min", 0), ("Min.", 0), ("s", 0)])
    func `The lengths of a night are in hours, or the night is refused`(units: String, count: Int) throws {
        let night =
            #"{"date":"2026-02-10 00:00:00 +0100","totalSleep":7,"sleepStart":"2026-02-09 23:00:00 +0100","sleepEnd":"2026-02-10 06:00:00 +0100","source":"W"}"#
        let reading = try Reading(metric: "sleep_analysis", units, [night])
        #expect(reading.samples.count == count && reading.rejected.count == 1 - count, "\(reading.rejected)")
    }
}
