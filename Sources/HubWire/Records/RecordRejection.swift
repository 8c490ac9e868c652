/// Why one record of a batch is refused; the others are not affected, except those of its group (Protocol §9.2).
public struct RecordRejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The codes of Protocol §9.2.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The word on the wire.
        public let rawValue: String

        private init(_ rawValue: String) { self.rawValue = rawValue }

        /// A code as the hub spells it; codes of a later version are kept as they are.
        public init(received rawValue: String) { self.rawValue = rawValue }

        /// No object, a member name twice, or text that is not Unicode.
        public static let json = Code("json")
        /// No kind, or another than the type's.
        public static let kind = Code("kind")
        /// No type, or one that is not declared.
        public static let type = Code("type")
        /// A value that the type cannot have.
        public static let value = Code("value")
        /// A unit that cannot be read or measures something else.
        public static let unit = Code("unit")
        /// No time, or one that cannot be read.
        public static let time = Code("time")
        /// No key, or one of another form.
        public static let key = Code("key")
        /// A source other than the session's, or of another form.
        public static let source = Code("source")
        /// A member that only the hub writes.
        public static let reserved = Code("reserved")
        /// A group of another form, or a member of the group was rejected.
        public static let group = Code("group")
        /// More bytes than a record may have.
        public static let size = Code("size")
        /// Metadata or extra members beyond their bounds.
        public static let metadata = Code("metadata")
        /// A provenance of another form.
        public static let provenance = Code("provenance")
        /// A subject or person of another form, or unknown.
        public static let person = Code("person")
        /// A type or person that the instance may not write.
        public static let forbidden = Code("forbidden")
        /// The retraction of something the hub does not hold.
        public static let unknown = Code("unknown")
        /// A payload frame that the message does not have.
        public static let payload = Code("payload")
        /// The instance would leave behind more than one may.
        public static let limit = Code("limit")

        public var description: String { rawValue }
    }

    public var code: Code
    /// What is wrong, where, and what is allowed: a sentence for people.
    ///
    /// Never holds a health value.
    public var reason: String
    /// The group the record belongs to, where it could be read: the others of that group fall with it.
    public var group: String?

    public init(_ code: Code, _ reason: String, group: String? = nil) {
        self.code = code
        self.reason = reason
        self.group = group
    }

    public var description: String { "\(code): \(reason)" }
}
