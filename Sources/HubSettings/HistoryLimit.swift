public import Samples

/// How far back a plugin may read.
public enum HistoryLimit: Sendable, Hashable, CustomStringConvertible {
    /// Nothing that ended before this day began, in UTC.
    case since(LocalDate)
    /// Nothing that ended more than so many times 24 hours ago.
    case days(Int)

    /// What ended before it is not read.
    ///
    /// - Parameter now: as the result, in microseconds since 1970.
    public func earliest(now: Int64) -> Int64 {
        switch self {
        case .since(let date): Int64(date.daysSinceEpoch) * Self.day
        case .days(let count): now - Int64(count) * Self.day
        }
    }

    private static let day: Int64 = 86_400_000_000
    /// As many as `hub.conf` may say.
    static let mostDays: Int64 = 36_500

    /// For people.
    public var description: String {
        switch self {
        case .since(let date): "since \(date.text)"
        case .days(1): "of the last day"
        case .days(let count): "of the last \(count) days"
        }
    }
}
