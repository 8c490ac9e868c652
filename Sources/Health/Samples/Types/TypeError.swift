/// Why a type id or the declaration of a type is rejected.
public struct TypeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped { case malformedID, notDeclarable, incomplete, badUnit, badValues, conflict }
        private let wrapped: Wrapped

        /// The id breaks the rules of ``TypeID``.
        public static let malformedID = Code(wrapped: .malformedID)
        /// Only `hc.` and `x.` types can be declared.
        public static let notDeclarable = Code(wrapped: .notDeclarable)
        /// The declaration lacks something its kind needs, or has something its kind cannot have.
        public static let incomplete = Code(wrapped: .incomplete)
        /// The declared unit cannot be read.
        public static let badUnit = Code(wrapped: .badUnit)
        /// The declared values contradict each other.
        public static let badValues = Code(wrapped: .badValues)
        /// The id is already declared as something else.
        public static let conflict = Code(wrapped: .conflict)

        /// The code's name.
        public var description: String { "\(wrapped)" }
    }

    /// What went wrong, for programs.
    public let code: Code
    /// The id as it was spelled, cut to the maximum length.
    public let id: String
    /// The problem and the allowed values.
    public let reason: String

    init(_ code: Code, id: String, _ reason: String) {
        self.code = code
        self.id = id
        self.reason = reason
    }

    /// One line for people.
    public var description: String { "type \"\(id)\": \(reason)" }
}
