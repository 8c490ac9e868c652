/// A sum of doubles that is exact until it is read.
///
/// The sum of a year equals the sum of its parts to the last bit, however the year is divided and in any order. Sums that are stored
/// therefore never differ from sums that are computed on request. Uses Shewchuk's expansions, like Python's `math.fsum`.
public struct ExactSum: Sendable, Hashable {
    /// Non-overlapping doubles, the smallest first; their total is the sum.
    public private(set) var parts: [Double]

    /// A sum of nothing: zero.
    public init() { parts = [] }

    /// A sum of these numbers.
    ///
    /// - Parameter parts: the parts of another sum, or any finite doubles.
    public init(parts: [Double]) {
        self.init()
        for part in parts { add(part) }
    }

    /// Adds a finite number.
    public mutating func add(_ value: Double) {
        var (rest, kept, count) = (value, 0, parts.count)
        for place in 0..<count {
            let part = parts[place]
            let (larger, smaller) = rest.magnitude < part.magnitude ? (part, rest) : (rest, part)
            let sum = larger + smaller
            let missing = smaller - (sum - larger)
            if missing != 0 {
                parts[kept] = missing
                kept += 1
            }
            rest = sum
        }
        if rest != 0 {
            if kept == count {
                parts.append(rest)
                count += 1
            } else {
                parts[kept] = rest
            }
            kept += 1
        }
        if kept < count { parts.removeLast(count - kept) }
    }

    /// The double nearest to the sum of finite numbers; `nil` if it is beyond the range of doubles.
    ///
    /// Gives the same result as adding each number to an ``ExactSum``, but several times as fast. It adds up the rounding errors separately, and
    /// that second sum is nearly always exact.
    @inlinable public static func rounded(of values: some Collection<Double>) -> Double? {
        var (sum, left) = (0.0, 0.0)
        for value in values {
            let next = sum + value
            let part = next - sum
            let missing = (sum - (next - part)) + (value - part)
            sum = next
            guard missing != 0 else { continue }
            let all = left + missing
            let small = all - left
            guard (left - (all - small)) + (missing - small) == 0 else { return exact(values) }
            left = all
        }
        let total = sum + left
        return total.isFinite ? total : exact(values)
    }

    @usableFromInline static func exact(_ values: some Collection<Double>) -> Double? {
        var sum = ExactSum()
        for value in values { sum.add(value) }
        return sum.rounded
    }

    /// Adds another sum.
    public mutating func add(_ other: ExactSum) {
        for part in other.parts { add(part) }
    }

    /// Whether the sums are the same number, whatever their parts.
    public static func == (left: ExactSum, right: ExactSum) -> Bool {
        if left.parts == right.parts { return true }
        // Sums beyond the range of doubles are not distinguished.
        guard left.rounded != nil, right.rounded != nil else { return left.rounded == right.rounded }
        var difference = left
        for part in right.parts { difference.add(-part) }
        return difference.parts.isEmpty
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(rounded) }

    /// The double nearest to the sum; `nil` if it is beyond the range of doubles.
    public var rounded: Double? {
        guard var sum = parts.last else { return 0 }
        guard sum.isFinite else { return nil }
        var place = parts.count - 1
        var missing = 0.0
        while place > 0, missing == 0 {
            place -= 1
            let before = sum
            sum = before + parts[place]
            missing = parts[place] - (sum - before)
        }
        // The sum lies exactly between two doubles: the next smaller part decides, not the even rule.
        if place > 0, (missing < 0) == (parts[place - 1] < 0), missing != 0 {
            let twice = missing * 2
            let above = sum + twice
            if above - sum == twice { sum = above }
        }
        return sum
    }
}
