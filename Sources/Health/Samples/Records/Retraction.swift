/// Withdraws a record.
///
/// The hub remembers the identity, so a repeated delivery cannot bring the record back by accident.
public struct Retraction: Hashable, Sendable {
    /// Who withdrew the record.
    public enum Author: String, Hashable, Sendable {
        /// The source itself. It can undo the retraction by sending the identity again.
        case source
        /// A person; no source can undo it.
        case person
    }

    /// The record that is withdrawn.
    public var identity: RecordIdentity
    /// The source that sends the retraction.
    ///
    /// For a sample it is the source in the identity.
    public var source: Source
    /// Whether the source or a person withdrew the record.
    public var author: Author
    /// The reason, as text for people.
    public var reason: String?
    /// The source's own version number, as in ``Sample/sourceVersion``.
    public var sourceVersion: Int64?

    /// Creates a retraction without checking its values.
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
