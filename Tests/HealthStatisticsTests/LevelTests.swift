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

    @Test func `a plain mean is of the values, and never beyond them`() throws {
        let three = try #require(LevelStatistic(levels((0, 80.1), (9, 80.1), (12, 80.1)), .discreteArithmetic))
        #expect(three.average == 80.1 && three.minimum == 80.1 && three.maximum == 80.1 && three.count == 3)
        #expect(LevelStatistic(levels((0, 80), (1, 81)), .discreteArithmetic)?.average == 80.5)
        #expect(LevelStatistic([Level](), .discreteArithmetic) == nil)
    }

    @Test func `a value weighs as long as it held, five minutes at most`() throws {
        // 100 for a minute, 60 for the five minutes that a value holds alone.
        let two = try #require(LevelStatistic(levels((0, 100), (60, 60)), .discreteTemporallyWeighted))
        #expect(two.average == 24_000.0 / 360)
        // The next began after ten minutes, or after one, outside of this interval.
        let ten = LevelStatistic(levels((0, 100), (60, 60)), .discreteTemporallyWeighted, following: 660_000_000)
        #expect(ten?.average == two.average)
        let one = LevelStatistic(levels((0, 100), (60, 60)), .discreteTemporallyWeighted, following: 120_000_000)
        #expect(one?.average == 80)
        // Two of one instant hold as long as one another.
        let same = LevelStatistic(
            levels((0, 90), (0, 110), (60, 60)), .discreteTemporallyWeighted, following: 120_000_000)
        #expect(same?.average == (90.0 + 110 + 60) / 3)
    }

    @Test func `decibels are averaged by their energy`() throws {
        let level = try #require(
            LevelStatistic(levels((0, 60), (300, 70)), .discreteEquivalentContinuousLevel))
        #expect(abs(level.average - 67.40362689494244) < 1e-9)
        #expect(level.minimum == 60 && level.maximum == 70)
    }

    @Test func `a sample with a length holds for it, where no other begins in it`() throws {
        var long = levels((0, 100), (1_200, 50))
        long[0].end = 900_000_000
        let alone = try #require(LevelStatistic(long, .discreteTemporallyWeighted))
        #expect(alone.average == 87.5)
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
