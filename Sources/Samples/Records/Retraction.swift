/// Says that a record is no longer so. The identity stays known: a repeat cannot bring the record back by accident.
public struct Retraction: Hashable, Sendable {
    /// Who took it back.
    public enum Author: String, Hashable, Sendable {
        /// The source itself, which may send the identity again and so undo it.
        case source
        /// A person; no source can undo it.
        case person
    }

    public var identity: RecordIdentity
    /// The source that sends the retraction; of a sample it is the identity's own.
    public var source: Source
    public var author: Author
    public var reason: String?
    public var sourceVersion: Int64?

    public init(
        identity: RecordIdentity, source: Source, author: Author = .source, reason: String? = nil, sourceVersion: Int64? = nil
    ) {
        self.identity = identity
        self.source = source
        self.author = author
        self.reason = reason
        self.sourceVersion = sourceVersion
    }
}
