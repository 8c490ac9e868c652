import Foundation

/// Formats numbers for people without rounding.
package enum NumberText {
    /// The shortest text that reads back as the same double: `72`, `72.3`.
    package static func shortest(_ value: Double) -> String {
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return String(whole) }
        return String(value)
    }

    /// A fraction as percent, by moving the decimal point: `0.182` is `18.2`.
    package static func percent(_ fraction: Double) -> String {
        guard let decimal = Decimal(string: shortest(fraction)) else { return shortest(fraction * 100) }
        return (decimal * 100).description
    }

    /// A number with thousands separators: `1,042`.
    package static func grouped(_ value: some BinaryInteger) -> String {
        let digits = Array(String(value.magnitude))
        var text = ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return value < 0 ? "-" + text : text
    }

    /// A count with its word: `1 record`, `2 records`.
    package static func count(_ value: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
        "\(grouped(value)) \(value == 1 ? one : many ?? one + "s")"
    }

    /// A size in bytes: `512 B`, `1.2 MB`.
    package static func bytes(_ bytes: Int64) -> String {
        let units = ["B", "kB", "MB", "GB", "TB"]
        var (value, unit) = (Double(bytes), 0)
        while value >= 1_000, unit < units.count - 1 { (value, unit) = (value / 1_000, unit + 1) }
        let tenths = (value * 10).rounded() / 10
        return unit == 0 ? "\(bytes) B" : "\(shortest(tenths)) \(units[unit])"
    }

    /// A duration in at most two units: `12 s`, `5 min`, `2 h 5 min`, `3 d 4 h`.
    package static func duration(seconds: Double) -> String {
        let seconds = Int(max(0, seconds))
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3_600: return "\(seconds / 60) min"
        case ..<86_400: return "\(seconds / 3_600) h" + (seconds / 60 % 60 > 0 ? " \(seconds / 60 % 60) min" : "")
        default: return "\(seconds / 86_400) d" + (seconds / 3_600 % 24 > 0 ? " \(seconds / 3_600 % 24) h" : "")
        }
    }
}
