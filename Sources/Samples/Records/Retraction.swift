/// Says that a record is no longer so.
///
/// The identity stays known: a repeat cannot bring the record back by accident.
public struct Retraction: Hashable, Sendable {
    /// Who took it back.
    public enum Author: String, Hashable, Sendable {
        /// The source itself, which may send the identity again and so undo it.
        case source
        /// A person; no source can undo it.
        case person
    }

    /// Which record is no longer so.
    public var identity: RecordIdentity
    /// The source that sends the retraction; of a sample it is the identity's own.
    public var source: Source
    /// Whether the source or a person took it back.
    public var author: Author
    /// Why, in words for people.
    public var reason: String?
    /// The source's own version number, as in ``Sample/sourceVersion``.
    public var sourceVersion: Int64?

    /// A retraction; nothing is checked.
    public init(
        identity: RecordIdentity, source: Source, author: Author = .source, reason: String? = nil,
        sourceVersion: Int64? = nil
    ) {
        self.identity = identity
        self.source = source
        self.author = author
        self.reason = reason
        self.sourceVersion = sourceVersion
    }
}
