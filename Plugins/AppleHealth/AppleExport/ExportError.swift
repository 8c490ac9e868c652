/// Why an export, or a file in it, cannot be read.
///
/// The text gives the operation, its object, the cause and the remedy. It never contains a health value.
public struct ExportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Hashable, Sendable {
        /// The file does not exist.
        case missing
        /// The file is not an export of Apple Health.
        case notAnExport
        /// The file is an export but cannot be read, or not to its end.
        case damaged
        /// The file exceeds a limit far above any real export.
        case tooLarge
        /// The machine could not read the file.
        case io
    }

    public let code: Code
    /// One or two sentences for a person.
    public let message: String

    public var description: String { message }

    public init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }
}
