/// Parses the small values that people type: weights, durations, bytes.
public enum ValueParser {
    /// Tenths of a kilogram from `72.4` or `72`; at most 999.9 with one decimal, because the scale has no other values.
    static func tenths(_ text: some StringProtocol) throws(SimulatorError) -> Int {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let whole = digits(parts[0]), whole <= 999,
            let tenth = parts.count == 1 ? 0 : parts[1].utf8.count == 1 ? digits(parts[1]) : nil
        else {
            throw SimulatorError(
                .usage, "weight '\(text)': expected kilograms from 0 to 999.9 with at most one decimal, such as 72.4")
        }
        return whole * 10 + tenth
    }

    /// A duration from `0.8s`, `300ms`, `2m`, `1h`, `1d`; a bare number means seconds.
    public static func duration(_ text: some StringProtocol) throws(SimulatorError) -> Duration {
        let units = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86400)]
        let unit = units.first { text.hasSuffix($0.0) } ?? ("", 1)
        guard let number = Double(text.dropLast(unit.0.count)), number.isFinite, number >= 0, number <= 1e6 else {
            throw SimulatorError(.usage, "duration '\(text)': expected a number and ms, s, m, h or d, such as 0.8s")
        }
        return .seconds(number * unit.1)
    }

    /// Seconds from `+46s`, `-1h`, `90`.
    public static func signedSeconds(_ text: some StringProtocol) throws(SimulatorError) -> Int {
        let isNegative = text.hasPrefix("-")
        let size = try duration(isNegative || text.hasPrefix("+") ? String(text.dropFirst()) : String(text))
        return (isNegative ? -1 : 1) * Int(size.components.seconds)
    }

    /// An error byte from a display name (`Er7`, `Lo`) or hexadecimal (`0xE7`).
    static func errorByte(_ text: some StringProtocol) throws(SimulatorError) -> UInt8 {
        let names: [String: UInt8] = [
            "lo": 0xA0, "er0": 0xE0, "er1": 0xE1, "er2": 0xE2, "er4": 0xE4, "er7": 0xE7, "er8": 0xE8, "er9": 0xE9,
        ]
        if let byte = names[text.lowercased()] { return byte }
        if text.hasPrefix("0x"), let byte = UInt8(text.dropFirst(2), radix: 16) { return byte }
        throw SimulatorError(
            .usage, "error '\(text)': expected Lo, Er0, Er1, Er2, Er4, Er7, Er8, Er9, or a byte such as 0xE7")
    }

    static func digits(_ text: some StringProtocol) -> Int? {
        text.utf8.count <= 9 && text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
    }
}
