import Samples

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

    private init(_ text: UnitText) {
        (spelling, symbol, mark) = (text.spelling, text.symbol, text.mark)
        (singular, plural) = (text.singular, text.plural)
    }

    /// The unit with this HealthKit spelling; a unit without names for people keeps its spelling.
    public init(_ spelling: String) {
        let plain = Self.withoutMass(spelling)
        if let known = Self.known[plain] {
            self = known
        } else {
            (self.spelling, symbol, mark, singular, plural) = (plain, plain, plain, plain, plain)
        }
    }

    /// The unit with this English name, such as `pound`.
    public init?(named name: String) {
        guard let text = UnitText.all.first(where: { $0.singular == name && !name.isEmpty }) else { return nil }
        self.init(text)
    }

    /// Removes the molar mass: `mmol<180.156>/L` becomes `mmol/L`.
    private static func withoutMass(_ unit: String) -> String {
        guard let start = unit.firstIndex(of: "<"), let end = unit.firstIndex(of: ">"), start < end else { return unit }
        return String(unit[..<start] + unit[unit.index(after: end)...])
    }

    public static let pound = PeopleUnit("lb"), stone = PeopleUnit("st")
    public static let foot = PeopleUnit("ft"), inch = PeopleUnit("in")
    public static let hour = PeopleUnit("hr"), minute = PeopleUnit("min")

    private static let known = Dictionary(uniqueKeysWithValues: UnitText.all.map { ($0.spelling, PeopleUnit($0)) })

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
