/// Which members of a sample a person has changed by hand.
///
/// The bits are those of the store's column; a bit is never given another meaning.
public struct EditedMembers: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The value, with its unit.
    public static let value = EditedMembers(rawValue: 1)
    /// When it was measured, or when the interval begins: the instant, its offset, or both.
    public static let start = EditedMembers(rawValue: 2)
    /// The same of the end.
    public static let end = EditedMembers(rawValue: 4)
    /// The metadata: a person's note.
    public static let metadata = EditedMembers(rawValue: 8)

    /// Every member a person can change, by its name on the wire, in canonical order.
    public static let named: [(member: EditedMembers, name: StaticString)] = [
        (.value, "value"), (.start, "start"), (.end, "end"), (.metadata, "metadata"),
    ]
}
