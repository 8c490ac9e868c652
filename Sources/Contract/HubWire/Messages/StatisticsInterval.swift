public import Samples

/// The division of time in a question about statistics (Protocol §8.4).
public struct StatisticsInterval: Hashable, Sendable {
    public enum Unit: String, Hashable, Sendable, CaseIterable {
        case hour, day, week, month, year
    }

    /// The number of units in one interval.
    public var every: Int
    public var unit: Unit
    /// A start of an interval; `nil`: midnight of Monday, 1 January 2001, in the zone.
    public var anchor: Timestamp?
    /// IANA name of the zone whose calendar the intervals follow; `nil`: the person's.
    public var zone: String?

    public static let counts: ClosedRange<Int64> = 1...10_000

    public init(every: Int = 1, _ unit: Unit, anchor: Timestamp? = nil, zone: String? = nil) {
        (self.every, self.unit, self.anchor, self.zone) = (every, unit, anchor, zone)
    }
}

extension StatisticsInterval: BodyCoding {
    init(reading object: ObjectReader) throws(WireError) {
        try object.refuseOthers(than: ["every", "unit", "anchor", "zone"])
        every = Int(try object.integerIfPresent("every", in: Self.counts) ?? 1)
        unit = try object.word("unit", as: Unit.self)
        anchor = try object.timeIfPresent("anchor")
        zone = try object.textIfPresent("zone")
    }

    func write(to body: inout ObjectWriter) {
        body.member("every", integer: Int64(every))
        body.member("unit", text: unit.rawValue)
        body.member("anchor", time: anchor)
        body.member("zone", text: zone)
    }
}
