/// Weight Measurement, `2A9D`, of any scale that implements standard Bluetooth.
///
/// Scales with Bluetooth LE will be served by the code in this folder; until then only its tests and the fuzzer use it.
public struct SIGWeight: Sendable, Hashable {
    public var mass: SIGMass
    /// The time on the scale's clock; `nil` if the value has none, or no valid date.
    public var time: WallTime?
    /// The scale's number of the person; `nil` if the value has none, or the person is unknown.
    public var user: UInt8?
    /// Tenths of kg/m².
    public var bodyMassIndex: Int?
    /// Millimetres, or tenths of an inch if the mass is imperial.
    public var height: Int?

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let imperial = Flags(rawValue: 1)
        static let time = Flags(rawValue: 2)
        static let user = Flags(rawValue: 4)
        static let index = Flags(rawValue: 8)
    }

    public init(_ mass: SIGMass) { self.mass = mass }

    /// Bytes beyond the announced fields belong to later versions and are ignored.
    public init(_ value: [UInt8]) throws(SIGError) {
        var reader = SIGReader(value)
        let flags = Flags(rawValue: try reader.byte())
        let raw = try reader.pair()
        guard raw != 0xFFFF else { throw .unsuccessful }
        mass = SIGMass(raw: raw, isImperial: flags.contains(.imperial))
        if flags.contains(.time) { time = try reader.time() }
        if flags.contains(.user) { user = try reader.user() }
        if flags.contains(.index) { (bodyMassIndex, height) = (try reader.pair(), try reader.pair()) }
    }

    /// The value to transmit; `nil` if its fields cannot hold the numbers.
    public var bytes: [UInt8]? {
        guard let raw = UInt16(exactly: mass.raw) else { return nil }
        var flags: Flags = mass.isImperial ? .imperial : []
        var fields = raw.littleEndianBytes
        if let time {
            guard let date = time.sig else { return nil }
            flags.insert(.time)
            fields += date
        }
        if let user {
            flags.insert(.user)
            fields.append(user)
        }
        if let bodyMassIndex, let height {
            guard let index = UInt16(exactly: bodyMassIndex), let height = UInt16(exactly: height) else { return nil }
            flags.insert(.index)
            fields += index.littleEndianBytes + height.littleEndianBytes
        }
        return [flags.rawValue] + fields
    }

    /// Metres.
    public var metres: Double? { height.map { mass.isImperial ? Double($0) / 10 * 0.0254 : Double($0) / 1000 } }
}
