import Samples

/// The time span of a point of Health Auto Export.
///
/// The header `automation-aggregation` gives it; the body does not.
enum Grouping {
    /// Ungrouped samples, or points that cannot be distinguished from them.
    case samples
    case minutes, hours, days
    /// Weeks and longer, with the app's word for them.
    case longer(String)

    init(_ word: String?) {
        switch (word ?? "default").lowercased() {
        case "minutes", "minute": self = .minutes
        case "hours", "hour": self = .hours
        case "days", "day": self = .days
        case "weeks", "week", "months", "month", "years", "year": self = .longer(word ?? "")
        default: self = .samples
        }
    }

    /// The letter used in keys and the length in microseconds; `nil` for samples and days.
    var bucket: (letter: String, length: Int64)? {
        switch self {
        case .minutes: ("m", 60_000_000)
        case .hours: ("h", 3_600_000_000)
        default: nil
        }
    }
}
