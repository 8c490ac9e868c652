public import Samples

/// A limit on how far back a plugin may read.
public enum HistoryLimit: Sendable, Hashable, CustomStringConvertible {
    /// Excludes records that ended before this day began, in UTC.
    case since(LocalDate)
    /// Excludes records that ended more than this many times 24 hours ago.
    case days(Int)

    /// The earliest end of a record that may be read.
    ///
    /// - Parameter now: the current time; it and the result are in microseconds since 1970.
    public func earliest(now: Int64) -> Int64 {
        switch self {
        case .since(let date): Int64(date.daysSinceEpoch) * Self.day
        case .days(let count): now - Int64(count) * Self.day
        }
    }

    private static let day: Int64 = 86_400_000_000
    /// The largest number of days that `hub.conf` accepts.
    static let maximumDays: Int64 = 36_500

    /// The limit in words.
    public var description: String {
        switch self {
        case .since(let date): "since \(date.text)"
        case .days(1): "of the last day"
        case .days(let count): "of the last \(count) days"
        }
    }
}
