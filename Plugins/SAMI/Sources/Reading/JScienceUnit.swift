import PluginKit

/// A unit as manifests print it (JScience's default text form, reference §8), in the hub's spelling.
struct JScienceUnit: Hashable, Sendable {
    /// In the form that `HealthUnit` reads: `kg`, `count/min`, `kcal`.
    let unit: String
    /// The factor that converts a value to `unit`: JScience also prints `J*1000` and `m/1000`.
    let factor: Double

    /// Nil for a text that is not a unit, or that has no equivalent in the hub.
    ///
    /// The empty text means a number: `count`.
    init?(_ text: String) {
        let text = text.trimmingCharacters
        if text.isEmpty {
            (unit, factor) = ("count", 1)
            return
        }
        // The unit is named KILO_CALORIE and holds nutritional kilocalories, although physically it is one small calorie.
        if text == "J*4.184" {
            (unit, factor) = ("kcal", 1)
            return
        }
        var base = text[...]
        var factor = 1.0
        if let star = text.lastIndex(of: "*"), let number = Double(text[text.index(after: star)...]) {
            (base, factor) = (text[..<star], number)
        } else if let slash = text.lastIndex(of: "/"), let number = Double(text[text.index(after: slash)...]),
            number > 0
        {
            (base, factor) = (text[..<slash], 1 / number)
        }
        guard factor.isFinite, factor > 0, let spelled = Self.spelled(base), (try? HealthUnit(spelled)) != nil else {
            return nil
        }
        (unit, self.factor) = (spelled, factor)
    }

    /// Translates products with `·`, one `/`, exponents `²` and `³`, and parentheses around a denominator of several factors.
    private static func spelled(_ text: Substring) -> String? {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(halves.count), let top = product(halves[0]) else { return nil }
        guard halves.count == 2 else { return top }
        var bottom = halves[1]
        if bottom.first == "(", bottom.last == ")" { bottom = bottom.dropFirst().dropLast() }
        return product(bottom).map { "\(top)/\($0)" }
    }

    private static func product(_ text: Substring) -> String? {
        var factors: [String] = []
        for factor in text.split(separator: "·", omittingEmptySubsequences: false) {
            var name = factor
            var exponent = ""
            if let last = name.last, let digit = ["²": "2", "³": "3"][last] {
                name.removeLast()
                exponent = "^\(digit)"
            }
            guard let atom = atoms[String(name)] else { return nil }
            factors.append(atom + exponent)
        }
        return factors.joined(separator: "·")
    }

    /// JScience's word, and the hub's.
    private static let atoms = [
        "kg": "kg", "g": "g", "mg": "mg", "µg": "mcg", "μg": "mcg", "lb": "lb", "oz": "oz", "m": "m", "km": "km",
        "cm": "cm", "mm": "mm", "ft": "ft", "in": "in", "mi": "mi", "s": "s", "ms": "ms", "min": "min", "h": "hr",
        "day": "d", "℃": "degC", "°C": "degC", "°F": "degF", "K": "K", "mmHg": "mmHg", "Pa": "Pa", "hPa": "hPa",
        "%": "%", "b": "count", "J": "J", "kJ": "kJ", "L": "L", "mL": "mL", "dL": "dL", "ng": "ng", "W": "W", "V": "V",
        "Hz": "Hz", "°": "deg", "rad": "rad",
    ]
}

extension String {
    fileprivate var trimmingCharacters: String {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
}
