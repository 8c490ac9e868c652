/// A number as the unevaluated sum of two doubles, with about 32 decimal digits.
///
/// Unit factors are short decimals (0.0254, 133.322387415) that no double represents exactly. The second double carries the rest
/// through the whole conversion, and the result is rounded once at the end. This gives the double nearest to the true result, whereas plain
/// arithmetic would show 27 degC as 80.60000000000002 degF.
struct DoubleDouble: Sendable {
    var high: Double
    var low: Double

    init(high: Double, low: Double) {
        self.high = high
        self.low = low
    }

    init(_ value: Double) { self.init(high: value, low: 0) }

    static let one = DoubleDouble(1)

    var rounded: Double { high + low }

    static func + (left: DoubleDouble, right: DoubleDouble) -> DoubleDouble {
        var high = exactSum(left.high, right.high)
        let low = exactSum(left.low, right.low)
        high = quickSum(high.high, high.low + low.high)
        return quickSum(high.high, high.low + low.low)
    }

    static func - (left: DoubleDouble, right: DoubleDouble) -> DoubleDouble {
        left + DoubleDouble(high: -right.high, low: -right.low)
    }

    static func * (left: DoubleDouble, right: DoubleDouble) -> DoubleDouble {
        let product = exactProduct(left.high, right.high)
        return quickSum(product.high, product.low + (left.high * right.low + left.low * right.high))
    }

    static func / (left: DoubleDouble, right: DoubleDouble) -> DoubleDouble {
        let first = left.high / right.high
        var rest = left - right * DoubleDouble(first)
        let second = rest.high / right.high
        rest = rest - right * DoubleDouble(second)
        return quickSum(first, second) + DoubleDouble(rest.high / right.high)
    }

    /// `self` to the power of `exponent`, which may be negative.
    func raised(to exponent: Int) -> DoubleDouble {
        var result = DoubleDouble.one
        for _ in 0..<exponent.magnitude { result = result * self }
        return exponent < 0 ? .one / result : result
    }

    /// Product and rounding error of two doubles below 1e300 (Dekker).
    ///
    /// Does not use a fused multiply-add, because every program that links this module would then need libm.
    private static func exactProduct(_ left: Double, _ right: Double) -> DoubleDouble {
        let product = left * right
        let (left, right) = (halves(left), halves(right))
        let error = (left.high * right.high - product) + left.high * right.low + left.low * right.high
        return DoubleDouble(high: product, low: error + left.low * right.low)
    }

    /// `value` as the sum of two numbers of at most 26 bits (Veltkamp).
    private static func halves(_ value: Double) -> DoubleDouble {
        let scaled = value * 134_217_729  // 2^27 + 1
        let high = scaled - (scaled - value)
        return DoubleDouble(high: high, low: value - high)
    }

    /// Sum and rounding error of any two doubles (Knuth).
    private static func exactSum(_ left: Double, _ right: Double) -> DoubleDouble {
        let sum = left + right
        let part = sum - left
        return DoubleDouble(high: sum, low: (left - (sum - part)) + (right - part))
    }

    /// Sum and rounding error if `left` is the larger (Dekker).
    private static func quickSum(_ left: Double, _ right: Double) -> DoubleDouble {
        let sum = left + right
        return DoubleDouble(high: sum, low: right - (sum - left))
    }
}
