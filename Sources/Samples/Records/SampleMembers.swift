/// Some members of a sample: those that a person has changed by hand, or those that are implausible.
///
/// The bits are those of the store's columns; a bit is never given another meaning.
public struct SampleMembers: OptionSet, Hashable, Sendable {
    /// The members as bits, as the store has them.
    public let rawValue: UInt8

    /// The members of these bits; bits that have no meaning yet are kept.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The value, with its unit.
    public static let value = SampleMembers(rawValue: 1)
    /// When it was measured, or when the interval begins: the instant, its offset, or both.
    public static let start = SampleMembers(rawValue: 2)
    /// The same of the end.
    public static let end = SampleMembers(rawValue: 4)
    /// The metadata: a person's note.
    public static let metadata = SampleMembers(rawValue: 8)

    /// Every member by its name on the wire, in canonical order.
    public static let named: [(member: SampleMembers, name: StaticString)] = [
        (.value, "value"), (.start, "start"), (.end, "end"), (.metadata, "metadata"),
    ]
}
