/// A sample of a cumulative type: the amount that one source reports for a span of time, in the type's canonical unit.
public struct Portion: Hashable, Sendable {
    /// The hub's number of the record.
    public var number: Int64
    /// In microseconds since 1970.
    public var start: Int64
    /// Not before `start`; equal to it for an instant.
    public var end: Int64
    /// The amount.
    public var value: Double
    /// The rank of its source among the sources of the type, the best first; no two sources share one.
    public var rank: Int

    /// Creates an amount without checking its members.
    public init(number: Int64, start: Int64, end: Int64, value: Double, rank: Int) {
        (self.number, self.start, self.end, self.value, self.rank) = (number, start, end, value, rank)
    }

    var length: Int64 { end - start }
}
