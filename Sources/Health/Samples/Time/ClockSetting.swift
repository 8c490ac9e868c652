/// The clock of a program: `system`, or `START@RATE`, which can make a month pass in a minute.
public enum ClockSetting: Sendable, Hashable {
    /// The clock of the machine.
    case system
    /// A clock that begins at `start` and runs `rate` times as fast as the machine's.
    case simulated(start: Timestamp, rate: Double)

    /// The allowed rates.
    public static let rates: ClosedRange<Double> = 0.001...10_000_000

    /// Reads `system` or `START@RATE`, such as `2024-03-01T00:00:00Z@43200`; `nil` for any other text.
    ///
    /// - Parameters:
    ///   - text: the setting, without white space.
    ///   - rates: the allowed rates. A rate is written in decimal digits with at most one point.
    public init?(_ text: some StringProtocol, rates: ClosedRange<Double> = rates) {
        if text == "system" {
            self = .system
            return
        }
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        // `Double` alone would also take `inf`, `nan` and hexadecimal digits.
        guard parts.count == 2, let start = try? Timestamp(parsing: parts[0]),
            parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }),
            let rate = Double(parts[1]), rates.contains(rate)
        else { return nil }
        // Keep only the instant: its offset does not matter for a clock.
        self = .simulated(start: Timestamp(microseconds: start.microseconds), rate: rate)
    }
}
