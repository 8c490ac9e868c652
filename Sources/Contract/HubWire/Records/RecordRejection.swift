/// The reason why one record of a batch is refused; other records are not affected, except those of its group (Protocol §9.2).
public struct RecordRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The codes of Protocol §9.2.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The word on the wire.
        public let rawValue: String

        private init(_ rawValue: String) { self.rawValue = rawValue }

        /// A code in the hub's spelling; codes of a later version are kept.
        public init(received rawValue: String) { self.rawValue = rawValue }

        /// Not an object, a repeated member name, or text that is not Unicode.
        public static let json = Code("json")
        /// No kind, or one that differs from the type's.
        public static let kind = Code("kind")
        /// No type, or one that is not declared.
        public static let type = Code("type")
        /// A value that the type does not allow.
        public static let value = Code("value")
        /// A unit that cannot be read or measures something else.
        public static let unit = Code("unit")
        /// No time, or one that cannot be read.
        public static let time = Code("time")
        /// No key, or one with an invalid form.
        public static let key = Code("key")
        /// A source other than the session's, or one with an invalid form.
        public static let source = Code("source")
        /// A member that only the hub writes.
        public static let reserved = Code("reserved")
        /// A group with an invalid form, or a rejected member of the group.
        public static let group = Code("group")
        /// More bytes than a record may have.
        public static let size = Code("size")
        /// Metadata or extra members beyond their limits.
        public static let metadata = Code("metadata")
        /// A provenance with an invalid form.
        public static let provenance = Code("provenance")
        /// A subject or person that is unknown or has an invalid form.
        public static let person = Code("person")
        /// A type or person that the instance may not write.
        public static let forbidden = Code("forbidden")
        /// The retraction of a record that the hub does not have.
        public static let unknown = Code("unknown")
        /// A payload frame that the message does not have.
        public static let payload = Code("payload")
        /// More than one instance may keep in the hub.
        public static let limit = Code("limit")

        public var description: String { rawValue }
    }

    public var code: Code
    /// One sentence for people: what is wrong, where, and what is allowed.
    ///
    /// It never contains a health value.
    public var reason: String
    /// The group of the record, if it could be read: the other records of that group are rejected too.
    public var group: String?

    public init(_ code: Code, _ reason: String, group: String? = nil) {
        self.code = code
        self.reason = reason
        self.group = group
    }

    public var description: String { "\(code): \(reason)" }
}
