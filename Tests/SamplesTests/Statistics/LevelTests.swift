import Foundation
import Testing

@testable import Samples

@Suite struct LevelTests {
    private func levels(_ readings: (second: Int64, value: Double)...) -> [Level] {
        readings.enumerated().map { number, reading in
            let time = reading.second * 1_000_000
            return Level(number: Int64(number), start: time, end: time, value: reading.value, rank: 0)
        }
    }

    /// The tally of the readings before `end` (seconds).
    ///
    /// Later readings only end the time for which earlier ones hold.
    private func tally(_ levels: [Level], _ style: AggregationStyle, before end: Int64 = 10_000) -> Tally {
        Figures.levels(levels, [0, end * 1_000_000], style, bySource: false)[0].total
    }

    @Test func `a plain mean never lies outside the range of its values`() throws {
        let three = tally(levels((0, 80.1), (9, 80.1), (12, 80.1)), .discreteArithmetic)
        #expect(three.average(.discreteArithmetic) == 80.1 && three.minimum == 80.1 && three.maximum == 80.1)
        #expect(three.count == 3 && three.latest?.number == 2)
        #expect(tally(levels((0, 80), (1, 81)), .discreteArithmetic).average(.discreteArithmetic) == 80.5)
        #expect(tally([], .discreteArithmetic).average(.discreteArithmetic) == nil)
    }

    @Test func `a value weighs by the time it held, at most five minutes`() throws {
        let style = AggregationStyle.discreteTemporallyWeighted
        // 100 holds for a minute, and 60 for the maximum of five minutes.
        let two = tally(levels((0, 100), (60, 60)), style).average(style)
        let expected: Double = 24_000 / 360
        #expect(two == expected)
        // The next reading begins outside this interval, after ten minutes or after one.
        #expect(tally(levels((0, 100), (60, 60), (660, 1)), style, before: 100).average(style) == two)
        #expect(tally(levels((0, 100), (60, 60), (120, 1)), style, before: 100).average(style) == 80)
        // Two readings of the same instant hold equally long.
        let same = tally(levels((0, 90), (0, 110), (60, 60), (120, 1)), style, before: 100)
        let mean: Double = (90 + 110 + 60) / 3
        #expect(same.average(style) == mean)
    }

    @Test func `decibels are averaged by their energy`() throws {
        let style = AggregationStyle.discreteEquivalentContinuousLevel
        let level = tally(levels((0, 60), (300, 70)), style)
        #expect(abs(try #require(level.average(style)) - 67.40362689494244) < 1e-9)
        #expect(level.minimum == 60 && level.maximum == 70)
    }

    @Test func `a sample with a duration holds until it ends or another begins, at most for a day`() throws {
        let style = AggregationStyle.discreteTemporallyWeighted
        var long = levels((0, 100), (1_200, 50))
        long[0].end = 900_000_000
        #expect(tally(long, style).average(style) == 87.5)
        long[0].end = 2_000_000_000
        #expect(tally(long, style).average(style) == 90)
        var endless = levels((0, 100), (1_000_000, 50))
        endless[0].end = 900_000_000_000
        let expected: Double = (86_400 * 100 + 300 * 50) / 86_700
        #expect(tally(endless, style, before: 2_000_000).average(style) == expected)
    }

    @Test func `each source is averaged independently of the others`() throws {
        let style = AggregationStyle.discreteTemporallyWeighted
        var both = levels((0, 100), (60, 50), (120, 100), (240, 100))
        both[1].rank = 1
        let figures = Figures.levels(both, [0, 200_000_000], style, bySource: true)[0]
        #expect(figures.sources[0]?.average(style) == 100 && figures.sources[1]?.average(style) == 50)
        // One minute at 100, one at 50, and two at 100.
        let mean: Double = (100 + 50 + 2 * 100) / 4
        #expect(figures.total.average(style) == mean)
        #expect(figures.sources[0]?.count == 2 && figures.total.count == 3)
    }

    @Test func `a reading duplicated by another source counts once, with the value of the better source`() throws {
        let style = AggregationStyle.discreteArithmetic
        var several = levels((0, 80.4), (0, 80.41), (0, 80.4), (60, 82))
        (several[0].rank, several[1].rank, several[2].rank) = (1, 0, 1)
        let figures = Figures.levels(several, [0, 200_000_000], style, bySource: true)[0]
        #expect(figures.total.count == 3)
        let mean: Double = (80.41 + 80.4 + 82) / 3
        #expect(figures.total.average(style) == mean)
        #expect(figures.sources[0]?.count == 2 && figures.sources[1]?.average(style) == 80.4)
    }

    @Test func `the error for an unsuitable option lists the suitable ones`() throws {
        let steps = try #require(TypeRegistry.standard.type(try TypeID("stepCount")))
        #expect(StatisticsOptions([.sum, .bySource]).fault(for: steps) == nil)
        #expect(
            StatisticsOptions.average.fault(for: steps)
                == "average of stepCount, which is added up; it has sum, duration, mostRecent, bySource")
        let sleep = try #require(TypeRegistry.standard.type(try TypeID("sleepAnalysis")))
        #expect(StatisticsOptions.sum.fault(for: sleep)?.contains("sleepAnalysis has no number") == true)
    }
}
