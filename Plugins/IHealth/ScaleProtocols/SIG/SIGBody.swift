/// Body Composition Measurement, `2A9C`.
///
/// The first packet of a measurement with several packets is marked (``isFirstOfSeveral``); only that packet has time and user.
public struct SIGBody: Sendable, Hashable {
    /// Tenths of a percent.
    public var fat: Int
    public var time: WallTime?
    public var user: UInt8?
    /// Kilojoules a day.
    public var basalMetabolism: Int?
    /// Tenths of a percent.
    public var musclePercentage: Int?
    public var muscle, fatFree, softLean, water: SIGMass?
    /// Tenths of an ohm.
    public var impedance: Int?
    public var mass: SIGMass?
    /// Millimetres, or tenths of an inch if masses are imperial.
    public var height: Int?
    public var isImperial: Bool
    public var isFirstOfSeveral: Bool

    private struct Flags: OptionSet {
        let rawValue: Int
        static let imperial = Flags(rawValue: 1)
        static let time = Flags(rawValue: 1 << 1)
        static let user = Flags(rawValue: 1 << 2)
        static let metabolism = Flags(rawValue: 1 << 3)
        static let musclePercentage = Flags(rawValue: 1 << 4)
        static let muscle = Flags(rawValue: 1 << 5)
        static let fatFree = Flags(rawValue: 1 << 6)
        static let softLean = Flags(rawValue: 1 << 7)
        static let water = Flags(rawValue: 1 << 8)
        static let impedance = Flags(rawValue: 1 << 9)
        static let mass = Flags(rawValue: 1 << 10)
        static let height = Flags(rawValue: 1 << 11)
        static let several = Flags(rawValue: 1 << 12)
    }

    public init(fat: Int, isImperial: Bool = false) {
        (self.fat, self.isImperial, isFirstOfSeveral) = (fat, isImperial, false)
    }

    /// Bytes beyond the announced fields belong to later versions and are ignored.
    public init(_ value: [UInt8]) throws(SIGError) {
        var reader = SIGReader(value)
        let flags = Flags(rawValue: try reader.pair())
        let imperial = flags.contains(.imperial)
        func mass(_ reader: inout SIGReader) throws(SIGError) -> SIGMass {
            SIGMass(raw: try reader.pair(), isImperial: imperial)
        }
        fat = try reader.pair()
        guard fat != 0xFFFF else { throw .unsuccessful }
        (isImperial, isFirstOfSeveral) = (imperial, flags.contains(.several))
        if flags.contains(.time) { time = try reader.time() }
        if flags.contains(.user) { user = try reader.user() }
        if flags.contains(.metabolism) { basalMetabolism = try reader.pair() }
        if flags.contains(.musclePercentage) { musclePercentage = try reader.pair() }
        if flags.contains(.muscle) { muscle = try mass(&reader) }
        if flags.contains(.fatFree) { fatFree = try mass(&reader) }
        if flags.contains(.softLean) { softLean = try mass(&reader) }
        if flags.contains(.water) { water = try mass(&reader) }
        if flags.contains(.impedance) { impedance = try reader.pair() }
        if flags.contains(.mass) { self.mass = try mass(&reader) }
        if flags.contains(.height) { height = try reader.pair() }
    }

    /// The value to transmit; `nil` if its fields cannot hold the numbers.
    public var bytes: [UInt8]? {
        var flags: Flags = isImperial ? .imperial : []
        if isFirstOfSeveral { flags.insert(.several) }
        var fields: [UInt8] = []
        if let time {
            guard let date = time.sig else { return nil }
            flags.insert(.time)
            fields += date
        }
        if let user {
            flags.insert(.user)
            fields.append(user)
        }
        let numbers: [(Flags, Int?)] = [
            (.metabolism, basalMetabolism), (.musclePercentage, musclePercentage), (.muscle, muscle?.raw),
            (.fatFree, fatFree?.raw), (.softLean, softLean?.raw), (.water, water?.raw), (.impedance, impedance),
            (.mass, mass?.raw), (.height, height),
        ]
        for case (let flag, let number?) in numbers {
            guard let number = UInt16(exactly: number) else { return nil }
            flags.insert(flag)
            fields += number.littleEndianBytes
        }
        guard let fat = UInt16(exactly: fat) else { return nil }
        return UInt16(flags.rawValue).littleEndianBytes + fat.littleEndianBytes + fields
    }

    /// Kilocalories a day.
    public var kilocalories: Double? { basalMetabolism.map { Double($0) / 4.184 } }
}
