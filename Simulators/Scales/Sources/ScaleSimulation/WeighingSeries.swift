import Platform
public import ScaleProtocols

/// Invented weighings that resemble a person's: one each morning, drifting and varying by a few hundred grams.
///
/// The same seed gives the same series.
public struct WeighingSeries: Sendable {
    private var generator: SeededGenerator
    private var level: Double

    /// A series that starts somewhere between 64 and 82 kg.
    public init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        level = 0
        level = 64 + 18 * fraction()
    }

    /// `count` weighings on consecutive mornings, oldest first; the last one is on the morning before `now` or, after 9 o'clock, on the same
    /// day.
    public mutating func mornings(_ count: Int, before now: WallTime) -> [(time: WallTime, tenthsOfKilogram: Int)] {
        let midnight = now.secondsSince2000 - (now.hour * 3600 + now.minute * 60 + now.second)
        let lastDay = now.hour >= 9 ? midnight : midnight - 86400
        return (0..<max(0, count)).compactMap { place in
            let sinceMidnight = 6 * 3600 + 1800 + Int(fraction() * 7200)
            let time = WallTime(secondsSince2000: lastDay - (count - 1 - place) * 86400 + sinceMidnight)
            return time.map { ($0, next()) }
        }
    }

    /// The next weight in tenths of a kilogram.
    public mutating func next() -> Int {
        // The level drifts slowly and is pulled back to 73 kg, so that a long series stays plausible.
        level += (fraction() - 0.5) * 0.3 + (73 - level) * 0.002
        return Int(((level + (fraction() - 0.5) * 0.8) * 10).rounded())
    }

    private mutating func fraction() -> Double {
        Double(generator.next() >> 11) * 0x1p-53
    }
}

extension HS5Record.Composition {
    /// A plausible body composition for this weight; equal weights give equal ones.
    public static func invented(tenthsOfKilogram tenths: Int) -> HS5Record.Composition {
        let fat = 180 + tenths * 7 % 90
        return HS5Record.Composition(
            fat: fat, water: 690 - fat * 7 / 10, muscle: 640 - fat, bone: 22 + tenths % 12,
            visceralFat: 3 + tenths % 9, dailyCalories: 1500 + tenths)
    }
}
