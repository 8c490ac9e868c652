/// The sum of doubles, exact until it is read.
///
/// A sum of parts of a year is the sum of the year, to the last bit, whatever the parts and their order: what is added up once and kept,
/// and what is added up when it is asked for, cannot differ. By Shewchuk's expansions, as Python's `math.fsum`.
public struct ExactSum: Sendable, Hashable {
    /// Doubles that do not overlap, the smallest first; together they are the sum.
    public private(set) var parts: [Double]

    public init() { parts = [] }

    /// - Parameter parts: of another sum, or any doubles; finite.
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

    /// The double nearest to the sum of finite numbers; `nil` where it is beyond all doubles.
    ///
    /// The same as of adding each, and several times as fast: what one addition leaves out is added up by itself, and that is nearly always exact.
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

    public mutating func add(_ other: ExactSum) {
        for part in other.parts { add(part) }
    }

    /// Whether the sums are the same number, of whichever parts.
    public static func == (left: ExactSum, right: ExactSum) -> Bool {
        if left.parts == right.parts { return true }
        // Beyond all doubles they are not told apart.
        guard left.rounded != nil, right.rounded != nil else { return left.rounded == right.rounded }
        var difference = left
        for part in right.parts { difference.add(-part) }
        return difference.parts.isEmpty
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(rounded) }

    /// The double nearest to the sum; `nil` where it is beyond all doubles.
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
        // Exactly between two doubles: what is below decides, not the even one.
        if place > 0, (missing < 0) == (parts[place - 1] < 0), missing != 0 {
            let twice = missing * 2
            let above = sum + twice
            if above - sum == twice { sum = above }
        }
        return sum
    }
}
