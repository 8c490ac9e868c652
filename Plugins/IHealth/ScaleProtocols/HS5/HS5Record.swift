/// A weighing with body composition in the form that a HS5 sends and stores: 16 bytes.
public struct HS5Record: Sendable, Hashable {
    /// The bytes as the scale sent them.
    public let bytes: [UInt8]

    /// Returns `nil` for any other number of bytes.
    public init?(_ data: some Collection<UInt8>) {
        guard data.count == 16 else { return nil }
        bytes = Array(data)
    }

    /// The body composition in the protocol's whole numbers; 0 means that a value was not measured.
    public struct Composition: Sendable, Hashable {
        /// Tenths of a percent.
        public var fat, water, muscle: Int
        /// Tenths of a kilogram.
        public var bone: Int
        /// A level without unit.
        public var visceralFat: Int
        /// Kilocalories a day.
        public var dailyCalories: Int

        public init(fat: Int, water: Int, muscle: Int, bone: Int, visceralFat: Int, dailyCalories: Int) {
            (self.fat, self.water, self.muscle) = (fat, water, muscle)
            (self.bone, self.visceralFat, self.dailyCalories) = (bone, visceralFat, dailyCalories)
        }

        /// A weighing without composition, for example with shoes on.
        public static let none = Composition(fat: 0, water: 0, muscle: 0, bone: 0, visceralFat: 0, dailyCalories: 0)
    }

    /// A record of a weighing; `nil` for values that its fields cannot hold: years outside 2000–2255, above 409.5 kg, and others.
    public init?(_ time: WallTime, tenthsOfKilogram: Int, _ composition: Composition = .none) {
        guard (2000...2255).contains(time.year), (0...0xFFF).contains(tenthsOfKilogram),
            let fat = UInt16(exactly: composition.fat), let water = UInt16(exactly: composition.water),
            let muscle = UInt16(exactly: composition.muscle), let bone = UInt8(exactly: composition.bone),
            let visceral = UInt8(exactly: composition.visceralFat),
            let calories = UInt16(exactly: composition.dailyCalories)
        else { return nil }
        let date = [
            UInt8(time.year - 2000), UInt8(time.day & 7) << 5 | UInt8(time.hour),
            UInt8(time.day >> 3 & 1) << 7 | UInt8(time.minute), UInt8(time.day >> 4 & 1) << 7 | UInt8(time.second),
        ]
        let weight = [
            UInt8(time.month) << 4 | UInt8(tenthsOfKilogram >> 8), UInt8(truncatingIfNeeded: tenthsOfKilogram),
        ]
        let shares = [fat, water, muscle].flatMap { $0.bigEndianBytes() }
        bytes = date + weight + shares + [bone, visceral] + calories.bigEndianBytes()
    }

    /// The time on the scale's clock; `nil` if its bits are not a date.
    public var time: WallTime? {
        let day = Int(bytes[1] >> 5) | Int(bytes[2] >> 7) << 3 | Int(bytes[3] >> 7) << 4
        return WallTime(
            2000 + Int(bytes[0]), Int(bytes[4] >> 4), day, Int(bytes[1] & 0x1F), Int(bytes[2] & 0x7F),
            Int(bytes[3] & 0x7F))
    }

    public var tenthsOfKilogram: Int { Int(bytes[4] & 0xF) << 8 | Int(bytes[5]) }

    public var composition: Composition {
        Composition(
            fat: Int(bigEndian: bytes[6..<8]), water: Int(bigEndian: bytes[8..<10]),
            muscle: Int(bigEndian: bytes[10..<12]), bone: Int(bytes[12]), visceralFat: Int(bytes[13]),
            dailyCalories: Int(bigEndian: bytes[14..<16]))
    }

    /// The six bytes of time and weight, the identity of this weighing for one user of one scale.
    public var key: [UInt8] { Array(bytes[0..<6]) }
}
