/// Why a unit cannot be read or a value cannot be converted.
public struct UnitError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped { case syntax, unknownUnit, tooLong, tooDeep, exponent, scale, incompatible, value }
        private let wrapped: Wrapped

        /// The text does not follow the grammar.
        public static let syntax = Code(wrapped: .syntax)
        /// A name is not a unit.
        public static let unknownUnit = Code(wrapped: .unknownUnit)
        /// The text, or its canonical form, is longer than ``HealthUnit/maximumLength``.
        public static let tooLong = Code(wrapped: .tooLong)
        /// Parentheses are nested deeper than ``HealthUnit/maximumDepth``.
        public static let tooDeep = Code(wrapped: .tooDeep)
        /// An exponent is beyond ``HealthUnit/maximumExponent``.
        public static let exponentOutOfRange = Code(wrapped: .exponent)
        /// The unit as a whole is too large or too small to calculate with.
        public static let scaleOutOfRange = Code(wrapped: .scale)
        /// The units measure different dimensions.
        public static let incompatible = Code(wrapped: .incompatible)
        /// The value is not finite, or its conversion is outside the range of full double precision.
        public static let valueOutOfRange = Code(wrapped: .value)

        /// The code's name.
        public var description: String { "\(wrapped)" }
    }

    /// What went wrong, for programs.
    public let code: Code
    /// The offending unit string, at most its first ``HealthUnit/maximumLength`` bytes.
    public let text: String
    /// The position in `text` at which reading stopped, in bytes from its start; `nil` if the error concerns the whole text.
    public let position: Int?
    /// The problem and its solution, in one sentence without the text itself.
    public let reason: String

    init(_ code: Code, in text: String, at position: Int? = nil, _ reason: String) {
        self.code = code
        self.text = text
        self.position = position
        self.reason = reason
    }

    /// One line for people: the text, the place, the reason and what to do.
    public var description: String {
        "unit \"\(text)\"" + (position.map { ", byte \($0)" } ?? "") + ": " + reason
    }
}
