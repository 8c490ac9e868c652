/// A line through measured days, computed on request and never stored.
///
/// All lines use measured days only, because carried values would slow the line down.
public enum Trend: String, Hashable, Sendable, CaseIterable {
    /// Moves a tenth of the way to each measured day; without a measurement the line stays level (Hacker's Diet Online).
    case hackersDiet = "hackers-diet"
    /// As ``hackersDiet``, but uses the first reading of each day and interpolates the days between readings (TrendWeight).
    case trendWeight = "trendweight"
    /// Moves a tenth of the way for each day since the last measured one, 1 − 0.9^Δ; only measured days have points.
    case timeAware = "time-aware"
    /// Follows the slope as well as the level, and so does not lag behind a steady change (Holt); only measured days have points.
    case holt
    /// The straight line between two measured days.
    case linear

    /// The share of the distance that a line moves to a reading per day; half-life 6.6 days.
    public static let smoothing = 0.1
    /// The smoothing factor of Holt's slope.
    public static let slopeSmoothing = 0.1

    /// Whether the line uses each day's first reading, regardless of the series it is shown with.
    public var usesFirstReadings: Bool { self == .trendWeight }

    /// A day of the line.
    public struct Point: Hashable, Sendable {
        /// The day, in days since 1970-01-01.
        public var day: Int32
        /// The value of the line on that day, in the unit of the measured days.
        public var value: Double
        /// Whether the day has no measurement.
        public var isBetween: Bool

        /// Creates a point without checking its values.
        public init(day: Int32, value: Double, isBetween: Bool) {
            (self.day, self.value, self.isBetween) = (day, value, isBetween)
        }
    }

    /// The line through measured days, which are sorted; it ends at the last of them.
    public func points(_ measured: [MeasuredDay]) -> [Point] {
        switch self {
        case .hackersDiet: Self.held(Self.timeAware(measured) { _ in 1 })
        case .trendWeight:
            Self.timeAware(Self.interpolated(measured).map { MeasuredDay(day: $0.day, value: $0.value) }) { _ in 1 }
                .marked(as: Self.interpolated(measured))
        case .timeAware: Self.timeAware(measured) { $0 }
        case .holt: Self.holt(measured)
        case .linear: Self.interpolated(measured)
        }
    }

    /// Moves to each day in turn.
    ///
    /// `steps` gives the number of steps of ``smoothing`` for the days that have passed.
    private static func timeAware(_ measured: [MeasuredDay], _ steps: (Int32) -> Int32) -> [Point] {
        var points: [Point] = []
        for own in measured {
            guard let last = points.last else {
                points.append(Point(day: own.day, value: own.value, isBetween: false))
                continue
            }
            let share = share(smoothing, steps(own.day - last.day))
            points.append(
                Point(day: own.day, value: last.value + share * (own.value - last.value), isBetween: false))
        }
        return points
    }

    private static func holt(_ measured: [MeasuredDay]) -> [Point] {
        guard let first = measured.first else { return [] }
        var points = [Point(day: first.day, value: first.value, isBetween: false)]
        // The first two readings give the initial slope.
        var slope = measured.count > 1 ? (measured[1].value - first.value) / Double(measured[1].day - first.day) : 0
        var (level, last) = (first.value, first.day)
        for own in measured.dropFirst() {
            let passed = own.day - last
            let forecast = level + slope * Double(passed)
            let next = forecast + share(smoothing, passed) * (own.value - forecast)
            slope += share(slopeSmoothing, passed) * ((next - level) / Double(passed) - slope)
            (level, last) = (next, own.day)
            points.append(Point(day: own.day, value: level, isBetween: false))
        }
        return points
    }

    /// The combined effect of `count` steps of `smoothing`: 1 − (1 − smoothing)^count.
    private static func share(_ smoothing: Double, _ count: Int32) -> Double {
        var rest = 1 - smoothing
        for _ in 1..<max(1, count) { rest *= 1 - smoothing }
        return 1 - rest
    }

    /// Adds the days between the points, with the value of the point before.
    private static func held(_ points: [Point]) -> [Point] {
        filled(points) { before, _, _ in before.value }
    }

    private static func interpolated(_ measured: [MeasuredDay]) -> [Point] {
        filled(measured.map { Point(day: $0.day, value: $0.value, isBetween: false) }) { before, after, day in
            before.value + (after.value - before.value) * Double(day - before.day) / Double(after.day - before.day)
        }
    }

    private static func filled(_ points: [Point], _ between: (Point, Point, Int32) -> Double) -> [Point] {
        var filled: [Point] = []
        for (index, point) in points.enumerated() {
            if index > 0 {
                let before = points[index - 1]
                for day in before.day + 1..<point.day {
                    filled.append(Point(day: day, value: between(before, point, day), isBetween: true))
                }
            }
            filled.append(point)
        }
        return filled
    }
}

extension [Trend.Point] {
    /// The same line with the `isBetween` marks of another line over the same days.
    fileprivate func marked(as others: [Trend.Point]) -> [Trend.Point] {
        zip(self, others).map { Trend.Point(day: $0.day, value: $0.value, isBetween: $1.isBetween) }
    }
}
