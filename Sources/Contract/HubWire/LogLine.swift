import Samples

/// A line of a plugin's log file, `TIME LEVEL FROM TEXT`; `hub logs` reads it.
public struct LogLine: Hashable, Sendable, Codable {
    /// The origin of a line.
    public enum Origin: String, Sendable, Hashable, Codable, CaseIterable {
        /// The plugin's standard output.
        case out
        /// The plugin's standard error.
        case err
        /// The hub, about the plugin's process.
        case hub
    }

    /// RFC 3339 in UTC, with milliseconds; always by the machine's clock, even if the hub uses another.
    public var time: String
    /// A level of swift-log, from `trace` to `critical`; `info` if the plugin does not set one.
    public var level: String
    public var from: Origin
    /// Without line breaks and control characters.
    public var text: String

    public static let levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

    /// Makes a line to be written.
    ///
    /// The level comes from PluginKit's own form, `TIME LEVEL TEXT`. Its time is dropped in favour of the hub's.
    ///
    /// - Parameter microseconds: the time since 1970.
    public init(_ text: String, from: Origin, level: String? = nil, at microseconds: Int64) {
        let words = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
        var (found, rest): (String?, Substring) = (nil, text[...])
        if from != .hub, words.count == 3, Self.levels.contains(String(words[1])), Self.isTime(words[0]) {
            (found, rest) = (String(words[1]), words[2])
        }
        (self.level, self.from) = (level ?? found ?? "info", from)
        self.text = Self.plain(rest)
        time = Self.time(microseconds)
    }

    /// Parses a line of a file; `nil` for one that a full disk cut short.
    public init?(reading line: some StringProtocol) {
        let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard words.count == 4, let from = Origin(rawValue: String(words[2])) else { return nil }
        (time, level, self.from, text) = (String(words[0]), String(words[1]), from, String(words[3]))
    }

    /// The line as it is in the file, without its line end.
    public var line: String { "\(time) \(level) \(from.rawValue) \(text)" }

    /// Always of the same length, so that times can be compared as texts.
    public static func time(_ microseconds: Int64) -> String {
        let whole = microseconds - microseconds.modulo(1_000_000)
        let text = Timestamp(microseconds: whole).text.dropLast()  // Without its Z.
        let fraction = String(microseconds.modulo(1_000_000) / 1_000)
        return "\(text).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)Z"
    }

    private static func isTime(_ word: Substring) -> Bool {
        word.utf8.count >= 19 && word.first?.isNumber == true && word.contains("T") && word.contains(":")
    }

    private static func plain(_ text: Substring) -> String {
        let scalars = text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
        return String(String.UnicodeScalarView(scalars))
    }
}

extension Int64 {
    fileprivate func modulo(_ divisor: Int64) -> Int64 { ((self % divisor) + divisor) % divisor }
}
