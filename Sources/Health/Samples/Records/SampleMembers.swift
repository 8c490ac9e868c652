/// A set of members of a sample: those that a person has edited, or those that are implausible.
///
/// The bits are those of the store's columns, and a bit never changes its meaning.
public struct SampleMembers: OptionSet, Hashable, Sendable {
    /// The members as bits, as the store keeps them.
    public let rawValue: UInt8

    /// Creates a set from bits; unknown bits are kept.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The value, with its unit.
    public static let value = SampleMembers(rawValue: 1)
    /// The time of measurement or the start of the interval: the instant, its offset, or both.
    public static let start = SampleMembers(rawValue: 2)
    /// The same for the end.
    public static let end = SampleMembers(rawValue: 4)
    /// The metadata, such as a person's note.
    public static let metadata = SampleMembers(rawValue: 8)

    /// Every member by its name on the wire, in canonical order.
    public static let named: [(member: SampleMembers, name: StaticString)] = [
        (.value, "value"), (.start, "start"), (.end, "end"), (.metadata, "metadata"),
    ]
}
