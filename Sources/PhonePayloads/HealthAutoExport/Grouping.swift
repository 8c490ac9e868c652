import Samples

/// Over how long a point of Health Auto Export is: the header `automation-aggregation` says it, the body does not.
enum Grouping {
    /// Samples as they are, or what cannot be told from them.
    case samples
    case minutes, hours, days
    /// Weeks and longer, by the word of the app.
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

    /// The letter of keys, and the length in microseconds; `nil` for samples and days.
    var bucket: (letter: String, length: Int64)? {
        switch self {
        case .minutes: ("m", 60_000_000)
        case .hours: ("h", 3_600_000_000)
        default: nil
        }
    }
}
