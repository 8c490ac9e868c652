import Foundation
import HealthText

/// The value axis: its range, in numbers as the person reads them.
struct ValueAxis {
    struct Mark: Hashable {
        /// 0 at the lower end, 1 at the upper.
        let place: Double
        let text: String
    }

    private let format: ValueFormat
    private let low, high, step: Double

    /// - Parameters:
    ///   - values: all values that must fit; may be empty.
    ///   - fromZero: for sums, whose bars start at zero.
    init(_ values: [Double], fromZero: Bool, format: ValueFormat) {
        self.format = format
        var numbers = values.map { Self.bounded(format.number($0)) }
        if fromZero { numbers.append(0) }
        let (least, greatest) = (numbers.min() ?? 0, numbers.max() ?? 0)
        // If all values are equal, put round numbers around them.
        let wanted = greatest > least ? (greatest - least) / 5 : greatest.magnitude / 50
        step = Self.step(wanted, least: Self.leastStep(format, greatest.magnitude), parts: format.parts)
        var (low, high) = ((least / step).rounded(.down) * step, (greatest / step).rounded(.up) * step)
        if low >= high { (low, high) = (fromZero && least == 0 ? 0 : low - step, high + step) }
        (self.low, self.high) = (low, high)
    }

    /// Clamps numbers, because larger ones have no distinct position on an axis.
    private static func bounded(_ number: Double) -> Double { number.isFinite ? min(max(number, -1e15), 1e15) : 0 }

    /// The smallest useful step: marks must differ in the displayed decimals and as doubles.
    private static func leastStep(_ format: ValueFormat, _ magnitude: Double) -> Double {
        let seen = format.parts.map { 1 / $0 } ?? (magnitude >= 1 || format.finest == 1 ? format.finest : 0)
        return max(seen, magnitude * 1e-12, 1e-9)
    }

    /// The round step that is not less than `wanted`: 1, 2 or 5 times a power of ten, or a fraction of the larger of two combined units.
    private static func step(_ wanted: Double, least: Double, parts: Double?) -> Double {
        let wanted = max(wanted, least)
        if let parts, wanted < 1 {
            return [1, 2, 3, 5, 6, 7, 10, 15, 20, 30, parts].filter { parts.truncatingRemainder(dividingBy: $0) == 0 }
                .map { $0 / parts }.first { $0 >= wanted * 0.999 } ?? 1
        }
        let power = pow(10, log10(wanted).rounded(.down))
        return ([1, 2, 5, 10].first { $0 * power >= wanted * 0.999 } ?? 10) * power
    }

    /// 0 at the lower end, 1 at the upper end; values outside are clamped.
    func place(_ value: Double) -> Double { min(max((Self.bounded(format.number(value)) - low) / (high - low), 0), 1) }

    var marks: [Mark] {
        let count = Int(min(((high - low) / step).rounded(), 12))
        return (0...count).map { number in
            let shown = low + Double(number) * step
            return Mark(place: min(max((shown - low) / (high - low), 0), 1), text: format.mark(shown, step: step))
        }
    }
}
