/// Units as apps, devices and other programs spell them.
///
/// Contains only spellings that mean a single unit: `calories` may be small or large ones, and `C` may be a coulomb.
package enum UnitWords {
    /// The hub's spelling; `nil` if there is none, or if the text may mean several units.
    package static func spelling(of text: String) -> String? {
        if let word = words[text] { return word }
        let plain = text.replacing("\u{A0}", with: " ").replacing("\u{202F}", with: " ").trimmingSpaces
        // A single letter may mean another unit in the other case.
        return words[plain] ?? (plain.utf8.count > 1 ? words[plain.lowercased()] : nil)
    }

    private static let words: [String: String] = [
        // Counts, in the languages of phones.
        "steps": "count", "step": "count", "schritte": "count", "pas": "count", "pasos": "count", "passi": "count",
        "counts": "count", "bpm": "count/min", "lpm": "count/min", "spm": "count/min",
        "breaths/min": "count/min", "beats/min": "count/min", "beats per minute": "count/min",
        "breaths per minute": "count/min", "count/minute": "count/min", "/min": "count/min", "1/min": "count/min",
        "percent": "%", "pct": "%",
        // Mass.
        "kg": "kg", "kgs": "kg", "kilogram": "kg", "kilograms": "kg", "gram": "g", "grams": "g", "lb": "lb",
        "lbs": "lb", "pound": "lb", "pounds": "lb", "ounce": "oz", "ounces": "oz", "stone": "st", "stones": "st",
        "milligram": "mg", "milligrams": "mg", "µg": "mcg", "μg": "mcg", "ug": "mcg", "microgram": "mcg",
        "micrograms": "mcg",
        // Length and speed.
        "km": "km", "kilometer": "km", "kilometers": "km", "kilometre": "km", "kilometres": "km", "meter": "m",
        "meters": "m", "metre": "m", "metres": "m", "cm": "cm", "centimeter": "cm", "centimeters": "cm",
        "centimetre": "cm", "centimetres": "cm", "millimeter": "mm",
        "millimeters": "mm", "millimetre": "mm", "millimetres": "mm", "yard": "yd", "yards": "yd",
        "mile": "mi", "miles": "mi", "foot": "ft", "feet": "ft",
        "inch": "in", "inches": "in", "mph": "mi/hr", "mi/h": "mi/hr", "kmph": "km/hr", "km/h": "km/hr",
        "kph": "km/hr", "m/sec": "m/s",
        // Temperature.
        "°c": "degC", "ºc": "degC", "℃": "degC", "celsius": "degC", "degree celsius": "degC",
        "degrees celsius": "degC", "°f": "degF", "ºf": "degF", "℉": "degF", "fahrenheit": "degF",
        "degree fahrenheit": "degF", "degrees fahrenheit": "degF",
        // Energy and power.
        "kcal": "kcal", "kilocalorie": "kcal", "kilocalories": "kcal", "joule": "J",
        "joules": "J", "kj": "kJ", "kilojoule": "kJ",
        "kilojoules": "kJ", "watt": "W", "watts": "W", "met": "kcal/kg·hr", "mets": "kcal/kg·hr",
        // Volume and concentration.
        "ml": "mL", "milliliter": "mL", "milliliters": "mL", "millilitre": "mL", "millilitres": "mL", "liter": "L",
        "liters": "L", "litre": "L", "litres": "L", "fl oz": "fl_oz_us", "mg/dl": "mg/dL",
        // Time, pressure, conductance.
        "h": "hr", "hour": "hr", "hours": "hr", "hrs": "hr", "minute": "min", "minutes": "min", "mins": "min",
        "sec": "s", "second": "s", "seconds": "s", "millisecond": "ms", "milliseconds": "ms", "day": "d", "days": "d",
        "mmhg": "mmHg", "mm hg": "mmHg", "mm[hg]": "mmHg", "ohm": "S^-1",
    ]
}

extension String {
    fileprivate var trimmingSpaces: String {
        var text = self[...]
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
