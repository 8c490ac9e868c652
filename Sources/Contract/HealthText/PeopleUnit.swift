/// A unit with its names for people: `kg` is shown as 80 kg or 80 kilograms.
///
/// The names are English in every language, like those of Foundation's formatters; numbers follow the locale.
public struct PeopleUnit: Hashable, Sendable {
    /// HealthKit's spelling, without the molar mass.
    public let spelling: String
    /// The symbol after a number; empty for counts.
    public let symbol: String
    /// The full name in the singular: `pound`.
    public let singular: String
    /// The full name in the plural: `pounds`.
    public let plural: String
    /// The shortest symbol, which directly follows the number.
    private let mark: String

    private init(_ spelling: String, _ symbol: String, _ singular: String, _ plural: String, mark: String? = nil) {
        (self.spelling, self.symbol, self.singular, self.plural) = (spelling, symbol, singular, plural)
        self.mark = mark ?? symbol
    }

    /// The unit with this HealthKit spelling; a unit without names for people keeps its spelling.
    public init(_ spelling: String) {
        let plain = Self.withoutMass(spelling)
        self = Self.known[plain] ?? PeopleUnit(plain, plain, plain, plain)
    }

    /// The unit with this English name, such as `pound`.
    public init?(named name: String) {
        guard let unit = Self.table.first(where: { $0.singular == name && !name.isEmpty }) else { return nil }
        self = unit
    }

    /// Removes the molar mass: `mmol<180.156>/L` becomes `mmol/L`.
    private static func withoutMass(_ unit: String) -> String {
        guard let start = unit.firstIndex(of: "<"), let end = unit.firstIndex(of: ">"), start < end else { return unit }
        return String(unit[..<start] + unit[unit.index(after: end)...])
    }

    public static let kilogram = PeopleUnit("kg"), gram = PeopleUnit("g")
    public static let pound = PeopleUnit("lb"), ounce = PeopleUnit("oz"), stone = PeopleUnit("st")
    public static let kilometer = PeopleUnit("km"), meter = PeopleUnit("m")
    public static let centimeter = PeopleUnit("cm"), millimeter = PeopleUnit("mm")
    public static let mile = PeopleUnit("mi"), yard = PeopleUnit("yd")
    public static let foot = PeopleUnit("ft"), inch = PeopleUnit("in")
    public static let joule = PeopleUnit("J"), kilojoule = PeopleUnit("kJ")
    public static let calorie = PeopleUnit("cal"), kilocalorie = PeopleUnit("kcal")
    /// A kilocalorie of food.
    public static let foodCalorie = PeopleUnit("Cal")
    public static let hour = PeopleUnit("hr"), minute = PeopleUnit("min")

    private static let known = Dictionary(uniqueKeysWithValues: table.map { ($0.spelling, $0) })

    private static let table = [
        PeopleUnit("kg", "kg", "kilogram", "kilograms"), PeopleUnit("g", "g", "gram", "grams"),
        PeopleUnit("mg", "mg", "milligram", "milligrams"), PeopleUnit("mcg", "µg", "microgram", "micrograms"),
        PeopleUnit("lb", "lb", "pound", "pounds", mark: "#"), PeopleUnit("oz", "oz", "ounce", "ounces"),
        PeopleUnit("st", "st", "stone", "stones"), PeopleUnit("km", "km", "kilometer", "kilometers"),
        PeopleUnit("m", "m", "meter", "meters"), PeopleUnit("cm", "cm", "centimeter", "centimeters"),
        PeopleUnit("mm", "mm", "millimeter", "millimeters"), PeopleUnit("mi", "mi", "mile", "miles"),
        PeopleUnit("yd", "yd", "yard", "yards"), PeopleUnit("ft", "ft", "foot", "feet", mark: "′"),
        PeopleUnit("in", "in", "inch", "inches", mark: "″"), PeopleUnit("J", "J", "joule", "joules"),
        PeopleUnit("kJ", "kJ", "kilojoule", "kilojoules"), PeopleUnit("cal", "cal", "calorie", "calories"),
        PeopleUnit("kcal", "kcal", "kilocalorie", "kilocalories"),
        PeopleUnit("Cal", "Cal", "Calorie", "Calories", mark: "C"),
        PeopleUnit("kcal/d", "kcal/d", "kilocalorie per day", "kilocalories per day"),
        PeopleUnit("d", "d", "day", "days"), PeopleUnit("hr", "h", "hour", "hours"),
        PeopleUnit("min", "min", "minute", "minutes"), PeopleUnit("s", "s", "second", "seconds"),
        PeopleUnit("ms", "ms", "millisecond", "milliseconds"),
        PeopleUnit("%", "%", "percent", "percent"), PeopleUnit("count", "", "", ""),
        PeopleUnit("appleEffortScore", "", "", ""), PeopleUnit("count/min", "/min", "per minute", "per minute"),
        PeopleUnit("degC", "°C", "degree Celsius", "degrees Celsius"),
        PeopleUnit("degF", "°F", "degree Fahrenheit", "degrees Fahrenheit"),
        PeopleUnit("mmHg", "mmHg", "millimeter of mercury", "millimeters of mercury"),
        PeopleUnit("mg/dL", "mg/dL", "milligram per deciliter", "milligrams per deciliter"),
        PeopleUnit("mmol/L", "mmol/L", "millimole per liter", "millimoles per liter"),
        PeopleUnit("L", "L", "liter", "liters"), PeopleUnit("mL", "mL", "milliliter", "milliliters"),
        PeopleUnit("fl_oz_us", "fl oz", "fluid ounce", "fluid ounces"),
        PeopleUnit("L/min", "L/min", "liter per minute", "liters per minute"),
        PeopleUnit("m/s", "m/s", "meter per second", "meters per second"),
        PeopleUnit("km/hr", "km/h", "kilometer per hour", "kilometers per hour"),
        PeopleUnit("mi/hr", "mph", "mile per hour", "miles per hour"), PeopleUnit("W", "W", "watt", "watts"),
        PeopleUnit("IU", "IU", "international unit", "international units"),
        PeopleUnit("dBASPL", "dBASPL", "decibel", "decibels"),
    ]

    /// The smaller unit that is combined with this one, and how many of them it contains: 12 st 7 lb, 5 ft 10 in, 1 h 35 min.
    var smaller: (unit: PeopleUnit, count: Double)? {
        switch spelling {
        case "st": (.pound, 14)
        case "ft": (.inch, 12)
        case "hr": (.minute, 60)
        default: nil
        }
    }

    /// The word after a number.
    func word(_ width: TextWidth, isOne: Bool) -> String {
        switch width {
        case .short: mark
        case .medium: symbol
        case .long: isOne ? singular : plural
        }
    }

    /// The unit alone, as the label of a field for a value.
    func label(_ width: TextWidth, isOne: Bool) -> String {
        switch (self, width) {
        case (.pound, .short): symbol
        case (.stone, .long): singular
        default: word(width, isOne: isOne)
        }
    }
}

/// The available space for a text: `80kg`, `80 kg`, `80 kilograms`.
public enum TextWidth: String, Hashable, Sendable, CaseIterable { case short, medium, long }
