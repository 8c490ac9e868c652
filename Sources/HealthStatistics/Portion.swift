/// What one source says of a span of time: a sample of a type that is added up, in the type's one unit.
public struct Portion: Hashable, Sendable {
    /// The hub's number of the record.
    public var number: Int64
    /// In microseconds since 1970.
    public var start: Int64
    /// Not before `start`; the same for what has no length.
    public var end: Int64
    public var value: Double
    /// The place of its source among the sources of the type, the best first; each source has one of its own.
    public var rank: Int

    public init(number: Int64, start: Int64, end: Int64, value: Double, rank: Int) {
        (self.number, self.start, self.end, self.value, self.rank) = (number, start, end, value, rank)
    }

    var length: Int64 { end - start }
}
