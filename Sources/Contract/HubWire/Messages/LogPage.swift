/// The last lines of an instance's log: the answer to a question about `logs` (Protocol §8.1.4).
public struct LogPage: Hashable, Sendable, Codable {
    public var instance: String
    /// Oldest first.
    public var lines: [LogLine]
    /// Whether there are older lines that match, beyond this page's limit.
    public var more: Bool

    public init(instance: String, lines: [LogLine], more: Bool) {
        (self.instance, self.lines, self.more) = (instance, lines, more)
    }

    /// Maximum number of lines in an answer, and the default if the question sets no limit.
    public static let (maximumLines, usualLines): (Int, Int) = (1_000, 200)
    /// Maximum size of these lines in bytes, as they are in the file.
    public static let maximumBytes = 262_144
}
