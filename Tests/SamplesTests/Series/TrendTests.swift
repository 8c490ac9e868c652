import Samples
import Testing

@Suite struct TrendTests {
    /// Readings on days 1, 2, 5, 6, 8, 9, 10.
    private let measured = zip([1, 2, 5, 6, 8, 9, 10] as [Int32], [80, 79.6, 79, 79.4, 78.8, 78.9, 78.5])
        .map { MeasuredDay(day: $0, value: $1) }

    @Test(arguments: [
        (
            Trend.trendWeight,
            [80.0000, 79.9600, 79.9040, 79.8336, 79.7502, 79.7152, 79.6537, 79.5683, 79.5015, 79.4013]
        ),
        (
            .hackersDiet,
            [80.0000, 79.9600, 79.9600, 79.9600, 79.8640, 79.8176, 79.8176, 79.7158, 79.6343, 79.5208]
        ),
        (.linear, [80.0000, 79.6000, 79.4000, 79.2000, 79.0000, 79.4000, 79.1000, 78.8000, 78.9000, 78.5000]),
        (.timeAware, [80.0000, 79.9600, 79.6998, 79.6699, 79.5046, 79.4441, 79.3497]),
    ])
    func `the worked examples are matched to the fourth decimal`(trend: Trend, expected: [Double]) {
        let points = trend.points(measured)
        #expect(points.count == expected.count)
        for (point, value) in zip(points, expected) { #expect(abs(point.value - value) < 0.000_051) }
        let own = Set(measured.map(\.day))
        for point in points { #expect(point.isBetween == !own.contains(point.day)) }
    }

    @Test func `on a steady decline Holt follows the line, and the plain trend lags nine days behind`() throws {
        let days = (0..<200).map { MeasuredDay(day: $0, value: 90 - Double($0) * 0.05) }
        let holt = try #require(Trend.holt.points(days).last), plain = try #require(Trend.timeAware.points(days).last)
        #expect(abs(holt.value - days[199].value) < 1e-9)
        #expect(abs(plain.value - days[199].value - 9 * 0.05) < 1e-6)
        // Missing days do not change Holt's result.
        let some = days.filter { $0.day % 7 == 0 || $0.day % 5 == 0 }
        let end = try #require(Trend.holt.points(some).last), last = try #require(some.last)
        #expect(abs(end.value - last.value) < 1e-9)
    }

    @Test(arguments: Trend.allCases)
    func `a line spans the first to the last measured day and is flat for equal values`(trend: Trend) {
        #expect(trend.points([]).isEmpty)
        let one = [MeasuredDay(day: 3, value: 80)]
        #expect(trend.points(one) == [.init(day: 3, value: 80, isBetween: false)])
        let level = [1, 4, 40, 41].map { MeasuredDay(day: $0, value: 80) }
        let points = trend.points(level)
        #expect(points.first?.day == 1 && points.last?.day == 41)
        for point in points { #expect(abs(point.value - 80) < 1e-9) }
    }
}
