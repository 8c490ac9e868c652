import Foundation

/// Formatting for the axis of a chart: round numbers, and their text at the marks.
extension ValueFormat {
    /// The displayed number of a value, in the person's unit; for two combined units, in the larger one.
    package func number(_ value: Double) -> Double { shown(value) }

    /// The number of smaller units in the larger one, if two units are combined.
    package var parts: Double? { isPair ? unit.smaller?.count : nil }

    /// The unit, if the marks show only numbers; empty for counts, and if each mark shows two combined units.
    package var symbol: String { isPair ? "" : unit.symbol }

    /// The smallest difference between two values that is visible in their text.
    package var finest: Double { pow(10, -Double(decimals.upperBound)) }

    /// The text of a mark, with as many decimals as the distance `step` requires.
    package func mark(_ number: Double, step: Double) -> String {
        let digits = step > 0 ? min(6, max(0, -Int((log10(step) + 1e-9).rounded(.down)))) : 0
        if isPair { return HealthFormatter(locale, decimals: 0...0, joint: " ").pair(number, unit) }
        let shown = number == 0 ? 0 : number
        return HealthFormatter(locale, decimals: digits...digits).number(shown)
    }

    /// The change from an earlier value, with its sign: `−0.8 kg`, `+2 lb`; without a sign if the change rounds to zero.
    package func change(from earlier: Double, to later: Double) -> String {
        let difference = shown(later) - shown(earlier)
        let formatter = HealthFormatter(locale, decimals: decimals, joint: " ")
        let scale = pow(10, Double(decimals.upperBound)) * (parts ?? 1)
        let isSeen = (difference.magnitude * scale).rounded() > 0
        let amount = isPair ? formatter.pair(difference.magnitude, unit) : formatter.single(difference.magnitude, unit)
        return isSeen ? (difference < 0 ? "−" : "+") + amount : amount
    }
}

extension DisplayPreferences {
    /// A formatter for days and months at the marks of an axis; English if the locale is unknown.
    package var dates: HealthFormatter { HealthFormatter(locale ?? Locale(identifier: "en_001")) }
}
