import Foundation
import Samples
import Testing

@testable import HealthStatistics

@Suite struct LevelTests {
    private func levels(_ readings: (second: Int64, value: Double)...) -> [Level] {
        readings.enumerated().map { number, reading in
            let time = reading.second * 1_000_000
            return Level(number: Int64(number), start: time, end: time, value: reading.value, rank: 0)
        }
    }

    /// Of what lies before `end`; the readings after it only end what holds.
    private func tally(_ levels: [Level], _ style: AggregationStyle, before end: Int64 = 10_000) -> Tally {
        Figures.levels(levels, [0, end * 1_000_000], style, bySource: false)[0].total
    }

    @Test func `a plain mean is of the values, and never beyond them`() throws {
        let three = tally(levels((0, 80.1), (9, 80.1), (12, 80.1)), .discreteArithmetic)
        #expect(three.average(.discreteArithmetic) == 80.1 && three.minimum == 80.1 && three.maximum == 80.1)
        #expect(three.count == 3 && three.latest?.number == 2)
        #expect(tally(levels((0, 80), (1, 81)), .discreteArithmetic).average(.discreteArithmetic) == 80.5)
        #expect(tally([], .discreteArithmetic).average(.discreteArithmetic) == nil)
    }

    @Test func `a value weighs as long as it held, five minutes at most`() throws {
        let style = AggregationStyle.discreteTemporallyWeighted
        // 100 for a minute, 60 for the five minutes that a value holds alone.
        let two = tally(levels((0, 100), (60, 60)), style).average(style)
        let expected: Double = 24_000 / 360
        #expect(two == expected)
        // The next began after ten minutes, or after one, outside of this interval.
        #expect(tally(levels((0, 100), (60, 60), (660, 1)), style, before: 100).average(style) == two)
        #expect(tally(levels((0, 100), (60, 60), (120, 1)), style, before: 100).average(style) == 80)
        // Two of one instant hold as long as one another.
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

    @Test func `a sample with a length holds for it, where no other begins in it, and a day at most`() throws {
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

    @Test func `each source is averaged as if there were no other`() throws {
        let style = AggregationStyle.discreteTemporallyWeighted
        var both = levels((0, 100), (60, 50), (120, 100), (240, 100))
        both[1].rank = 1
        let figures = Figures.levels(both, [0, 200_000_000], style, bySource: true)[0]
        #expect(figures.sources[0]?.average(style) == 100 && figures.sources[1]?.average(style) == 50)
        // A minute of 100, one of 50, two of 100, and 100 for five more.
        let mean: Double = (100 + 50 + 2 * 100) / 4
        #expect(figures.total.average(style) == mean)
        #expect(figures.sources[0]?.count == 2 && figures.total.count == 3)
    }

    @Test func `a reading that another source has too counts once, and the better one's value is it`() throws {
        let style = AggregationStyle.discreteArithmetic
        var several = levels((0, 80.4), (0, 80.41), (0, 80.4), (60, 82))
        (several[0].rank, several[1].rank, several[2].rank) = (1, 0, 1)
        let figures = Figures.levels(several, [0, 200_000_000], style, bySource: true)[0]
        #expect(figures.total.count == 3)
        let mean: Double = (80.41 + 80.4 + 82) / 3
        #expect(figures.total.average(style) == mean)
        #expect(figures.sources[0]?.count == 2 && figures.sources[1]?.average(style) == 80.4)
    }

    @Test func `an option that does not fit is told with those that do`() throws {
        let steps = try #require(TypeRegistry.standard.type(try TypeID("stepCount")))
        #expect(StatisticsOptions([.sum, .bySource]).fault(for: steps) == nil)
        #expect(
            StatisticsOptions.average.fault(for: steps)
                == "average of stepCount, which is added up; it has sum, duration, mostRecent, bySource")
        let sleep = try #require(TypeRegistry.standard.type(try TypeID("sleepAnalysis")))
        #expect(StatisticsOptions.sum.fault(for: sleep)?.contains("sleepAnalysis has no number") == true)
    }
}
