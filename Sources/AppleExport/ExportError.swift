/// Why an export, or a file in it, cannot be read.
///
/// The text says what was being done, to what, why it failed and what to do. It never holds a health value.
public struct ExportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String { case missing, notAnExport, damaged, tooLarge, io }
        private let kind: Kind

        /// There is no such file.
        public static let missing = Code(kind: .missing)
        /// It is something else than an export of Apple Health.
        public static let notAnExport = Code(kind: .notAnExport)
        /// It is one, and cannot be read, or not to its end.
        public static let damaged = Code(kind: .damaged)
        /// It is beyond a bound that no real export comes near.
        public static let tooLarge = Code(kind: .tooLarge)
        /// The machine could not read it.
        public static let io = Code(kind: .io)

        public var description: String { kind.rawValue }
    }

    public let code: Code
    /// One or two sentences for a person.
    public let message: String

    public var description: String { message }

    public init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
}
