/// The last lines of an instance's log: the answer to a question about `logs` (Protocol §8.1.4).
public struct LogPage: Hashable, Sendable, Codable {
    public var instance: String
    /// Oldest first.
    public var lines: [LogLine]
    /// Whether there are older ones that were asked for, or would have been with a higher limit.
    public var more: Bool

    public init(instance: String, lines: [LogLine], more: Bool) {
        (self.instance, self.lines, self.more) = (instance, lines, more)
    }

    /// Lines of an answer at most, and where the question does not say how many.
    public static let (mostLines, usualLines): (Int, Int) = (1_000, 200)
    /// Bytes of these lines, as they stand in the file, at most.
    public static let mostBytes = 262_144
}
