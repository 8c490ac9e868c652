/// A single reading of a type that is not cumulative, in the type's canonical unit.
public struct Level: Hashable, Sendable {
    /// The hub's number of the record.
    public var number: Int64
    /// In microseconds since 1970.
    public var start: Int64
    /// Not before `start`.
    public var end: Int64
    /// The reading.
    public var value: Double
    /// The rank of its source among the sources of the type, the best first.
    public var rank: Int

    /// Creates a reading without checking its members.
    public init(number: Int64, start: Int64, end: Int64, value: Double, rank: Int) {
        (self.number, self.start, self.end, self.value, self.rank) = (number, start, end, value, rank)
    }
}
