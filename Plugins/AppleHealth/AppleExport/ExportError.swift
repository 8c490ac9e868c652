/// Why an export, or a file in it, cannot be read.
///
/// The text gives the operation, its object, the cause and the remedy. It never contains a health value.
public struct ExportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String { case missing, notAnExport, damaged, tooLarge, io }
        private let kind: Kind

        /// The file does not exist.
        public static let missing = Code(kind: .missing)
        /// The file is not an export of Apple Health.
        public static let notAnExport = Code(kind: .notAnExport)
        /// The file is an export but cannot be read, or not to its end.
        public static let damaged = Code(kind: .damaged)
        /// The file exceeds a limit far above any real export.
        public static let tooLarge = Code(kind: .tooLarge)
        /// The machine could not read the file.
        public static let io = Code(kind: .io)

        public var description: String { kind.rawValue }
    }

    public let code: Code
    /// One or two sentences for a person.
    public let message: String

    public var description: String { message }

    public init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
}
