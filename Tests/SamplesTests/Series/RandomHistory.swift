import Platform
import Samples

/// The last day of the histories.
let today: Int32 = 20_000

/// The clocks of two places whose local days differ for part of each day.
let clocks = ["UTC", "Asia/Tokyo"].compactMap { DayClock(zone: $0) }

extension SeededGenerator {

    /// A random reading from the last half year, sometimes from the next three days.
    mutating func reading(_ number: Int64) -> Reading {
        // Few days, times, values and sources, so that readings collide.
        let day =
            today
            - (Bool.random(using: &self) ? .random(in: -3...40, using: &self) : .random(in: 0...180, using: &self))
        let time = Int64(day) * 86_400_000_000 + .random(in: 0...2_000, using: &self) * 43_000_000
        let lengths: [Int64] = [0, 0, 0, 600_000_000, 7_200_000_000, 200_000_000_000]
        let length = lengths.randomElement(using: &self) ?? 0
        let clock = Int32.random(in: 0...9, using: &self) / 9
        return Reading(
            number: number, time: time, end: time + (length == 0 ? 0 : .random(in: 1...length, using: &self)),
            value: 70 + Double(Int.random(in: 0...60, using: &self)) / 20, day: clocks[Int(clock)].day(of: time),
            source: .random(in: 0...2, using: &self), clock: clock)
    }

    mutating func readings() -> [Reading] {
        var readings = (1...Int64.random(in: 1...60, using: &self)).map { reading($0) }
        for reading in readings.prefix(.random(in: 0...20, using: &self)) {
            readings.append(mirror(of: reading, 200 + reading.number))
        }
        return readings
    }

    /// A near duplicate of a reading from another source, maybe by another place's clock or without an end.
    mutating func mirror(of reading: Reading, _ number: Int64) -> Reading {
        var other = reading
        (other.number, other.source) = (number, (reading.source + 1) % 3)
        other.value *= [1, 1.0004, 1.0006].randomElement(using: &self) ?? 1
        if Bool.random(using: &self) { other.end = other.time }
        other.clock = .random(in: 0...9, using: &self) / 9
        other.day = clocks[Int(other.clock)].day(of: other.time)
        return other
    }

    mutating func rules() -> [SeriesRules] {
        Aggregator.allCases.map { aggregator in
            var rules = SeriesRules(
                aggregator, days: .random(in: 1...30, using: &self),
                mirrorTolerance: Bool.random(using: &self) ? 0.05 : nil)
            if aggregator == .sum || Bool.random(using: &self) { rules.ranks = [0: 30, 1: 10, 2: 20] }
            if aggregator != .sum, Int.random(in: 0...3, using: &self) == 0 {
                rules.preferred = [[.random(in: 0...2, using: &self)], [.random(in: 0...2, using: &self)]]
            }
            if Int.random(in: 0...3, using: &self) == 0 {
                rules.carriesUntil = today - .random(in: -5...60, using: &self)
            }
            return rules
        }
    }
}
