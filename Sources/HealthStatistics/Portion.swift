/// What one source says of a span of time: a sample of a type that is added up, in the type's one unit.
public struct Portion: Hashable, Sendable {
    /// How much the source has looked at.
    public enum Form: Hashable, Sendable {
        /// What was counted from `start` to `end`.
        case sample
        /// A statistic of all that there was from `start` to `end`: it has in it what the samples there say.
        case bucket
    }

    /// The hub's number of the record.
    public var number: Int64
    /// In microseconds since 1970.
    public var start: Int64
    /// Not before `start`; the same for what has no length.
    public var end: Int64
    public var value: Double
    /// The place of its source among the sources of the type, the best first; each source has one of its own.
    public var rank: Int
    public var form: Form
    /// Whether it came with the export file of a phone, which has more digits than what the phone sends of the same.
    public var isFromFile: Bool

    public init(
        number: Int64, start: Int64, end: Int64, value: Double, rank: Int, form: Form = .sample,
        isFromFile: Bool = false
    ) {
        (self.number, self.start, self.end, self.value) = (number, start, end, value)
        (self.rank, self.form, self.isFromFile) = (rank, form, isFromFile)
    }

    var length: Int64 { end - start }
}
