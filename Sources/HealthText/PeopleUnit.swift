/// A unit in which people say a mass, a length or an energy, with its words.
///
/// The words are English in every language, as those of Foundation's formatters; numbers follow the locale.
public enum PeopleUnit: String, Hashable, Sendable, CaseIterable {
    case kilogram, gram, pound, ounce, stone
    case kilometer, meter, centimeter, millimeter, mile, yard, foot, inch
    case joule, kilojoule, calorie, kilocalorie
    /// A kilocalorie of food.
    case foodCalorie

    /// How many of the SI unit (kilogram, metre, joule) one is.
    public var factor: Double {
        switch self {
        case .kilogram, .meter, .joule: 1
        case .gram, .millimeter: 0.001
        case .pound: 0.45359237
        case .ounce: 0.45359237 / 16
        case .stone: 0.45359237 * 14
        case .kilometer, .kilojoule: 1_000
        case .centimeter: 0.01
        case .mile: 1_609.344
        case .yard: 0.9144
        case .foot: 0.3048
        case .inch: 0.0254
        case .calorie: 4.184
        case .kilocalorie, .foodCalorie: 4_184
        }
    }

    /// The larger of two units that are said together has many of the smaller: 12 st 7 lb, 5 ft 10 in.
    var smaller: (unit: PeopleUnit, count: Double)? {
        switch self {
        case .stone: (.pound, 14)
        case .foot: (.inch, 12)
        default: nil
        }
    }

    /// Beside a number.
    func word(_ width: TextWidth, isOne: Bool) -> String {
        switch width {
        case .short: mark
        case .medium: symbol
        case .long: isOne ? singular : plural
        }
    }

    private var symbol: String {
        switch self {
        case .kilogram: "kg"
        case .gram: "g"
        case .pound: "lb"
        case .ounce: "oz"
        case .stone: "st"
        case .kilometer: "km"
        case .meter: "m"
        case .centimeter: "cm"
        case .millimeter: "mm"
        case .mile: "mi"
        case .yard: "yd"
        case .foot: "ft"
        case .inch: "in"
        case .joule: "J"
        case .kilojoule: "kJ"
        case .calorie: "cal"
        case .kilocalorie: "kcal"
        case .foodCalorie: "Cal"
        }
    }

    /// The shortest; attached to the number.
    private var mark: String {
        switch self {
        case .pound: "#"
        case .foot: "′"
        case .inch: "″"
        case .foodCalorie: "C"
        default: symbol
        }
    }

    private var singular: String { self == .foodCalorie ? "Calorie" : rawValue }

    private var plural: String {
        switch self {
        case .foot: "feet"
        case .inch: "inches"
        case .foodCalorie: "Calories"
        default: rawValue + "s"
        }
    }

    /// By itself, as the label of a field for so many.
    func label(_ width: TextWidth, isOne: Bool) -> String {
        switch (self, width) {
        case (.pound, .short): symbol
        case (.stone, .long): singular
        default: word(width, isOne: isOne)
        }
    }
}

/// How much room a text has: `80kg`, `80 kg`, `80 kilograms`.
public enum TextWidth: String, Hashable, Sendable, CaseIterable {
    case short, medium, long
}
