import Foundation

/// What the axis of a chart needs of values: numbers at even distances, and how they are written at its marks.
extension ValueFormat {
    /// The number that is read for a value, in the unit of the person; of two units together, in the larger.
    package func number(_ value: Double) -> Double { shown(value) }

    /// How many of the smaller unit are one of the larger, where two are said together.
    package var parts: Double? { isPair ? unit.smaller?.count : nil }

    /// The unit, where marks are numbers alone; empty for counts, and where two units stand at each mark.
    package var symbol: String { isPair ? "" : unit.symbol }

    /// The least difference between two values that is seen where they are read.
    package var finest: Double { pow(10, -Double(decimals.upperBound)) }

    /// A mark at `number`, with as many decimals as marks `step` apart need.
    package func mark(_ number: Double, step: Double) -> String {
        let digits = step > 0 ? min(6, max(0, -Int((log10(step) + 1e-9).rounded(.down)))) : 0
        if isPair { return HealthFormatter(locale, decimals: 0...0, joint: " ").pair(number, unit) }
        let shown = number == 0 ? 0 : number
        return HealthFormatter(locale, decimals: digits...digits).number(shown)
    }

    /// By how much a value differs from an earlier one, with its sign: `−0.8 kg`, `+2 lb`; without one where nothing of it is seen.
    package func change(from earlier: Double, to later: Double) -> String {
        let difference = shown(later) - shown(earlier)
        let formatter = HealthFormatter(locale, decimals: decimals, joint: " ")
        let scale = pow(10, Double(decimals.upperBound)) * (parts ?? 1)
        let isSeen = (difference.magnitude * scale).rounded() > 0
        let amount = isPair ? formatter.pair(difference.magnitude, unit) : formatter.single(difference.magnitude, unit)
        return isSeen ? (difference < 0 ? "−" : "+") + amount : amount
    }
}

extension Reader {
    /// The same for days and months at the marks of an axis; English where no locale is known.
    package var dates: HealthFormatter { HealthFormatter(locale ?? Locale(identifier: "en_001")) }
}
