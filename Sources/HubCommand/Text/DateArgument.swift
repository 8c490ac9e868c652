import Foundation
import Samples

/// A moment as people type it: `2026-03-01`, `yesterday`, `7d`, `2026-03-01T07:30:00+01:00`.
struct DateArgument: Hashable {
    /// What stands on the command line.
    let text: String
    private let meaning: Meaning

    private enum Meaning: Hashable {
        /// A whole day of the calendar.
        case day(LocalDate)
        /// A whole day, counted back from today.
        case daysAgo(Int)
        case instant(Timestamp)
        case secondsAgo(Int64)
        /// The same date and time so many years before.
        case yearsAgo(Int)
    }

    static let forms = """
        a date (2026-03-01), today, yesterday, a span back from now (90min, 12h, 7d, 4w, 5y) or \
        an RFC 3339 time (2026-03-01T07:30:00+01:00)
        """

    private static let spans: [(suffix: String, seconds: Int64)] = [
        ("min", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800),
    ]

    /// `nil` for any other text.
    init?(_ text: String) {
        self.text = text
        if let days = ["today": 0, "yesterday": 1][text] {
            meaning = .daysAgo(days)
        } else if let date = LocalDate(text) {
            meaning = .day(date)
        } else if let time = try? Timestamp(parsing: text) {
            meaning = .instant(time)
        } else if let span = DateArgument.spans.first(where: { text.hasSuffix($0.suffix) }),
            case let digits = text.dropLast(span.suffix.count), digits.allSatisfy({ $0.isASCII && $0.isNumber }),
            let count = Int64(digits), count <= 1_000_000
        {
            meaning = .secondsAgo(count * span.seconds)
        } else if text.hasSuffix("y"), text.dropLast().allSatisfy({ $0.isASCII && $0.isNumber }),
            let count = Int(text.dropLast()), count <= 10_000
        {
            meaning = .yearsAgo(count)
        } else {
            return nil
        }
    }

    /// The first instant that is meant; beyond all that a record can have, the nearest that one can.
    /// - Parameters:
    ///   - now: microseconds since 1970, by the hub's clock.
    ///   - zone: whose midnights count.
    func start(now: Int64, zone: TimeZone) -> Timestamp { DateArgument.within(instant(now, zone, dayOffset: 0)) }

    /// The first instant after what is meant: a day is meant whole.
    func end(now: Int64, zone: TimeZone) -> Timestamp { DateArgument.within(instant(now, zone, dayOffset: 1)) }

    private static func within(_ time: Timestamp) -> Timestamp {
        guard !Timestamp.range.contains(time.microseconds) else { return time }
        let bound = time.microseconds < 0 ? Timestamp.range.lowerBound : Timestamp.range.upperBound
        return Timestamp(microseconds: bound, offsetMinutes: time.offsetMinutes)
    }

    private func instant(_ now: Int64, _ zone: TimeZone, dayOffset: Int) -> Timestamp {
        switch meaning {
        case .day(let date): return DateArgument.midnight(date.adding(days: dayOffset), zone)
        case .daysAgo(let days):
            let offset = Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(now) / 1_000_000)))
            let today = Timestamp(microseconds: now + offset * 1_000_000).localDate
            return DateArgument.midnight(today.adding(days: dayOffset - days), zone)
        case .instant(let time): return time
        case .secondsAgo(let seconds): return Timestamp(microseconds: now - seconds * 1_000_000)
        case .yearsAgo(let years):
            let moment = Date(timeIntervalSince1970: Double(now) / 1_000_000)
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = zone
            let before = calendar.date(byAdding: .year, value: -years, to: moment) ?? .distantPast
            return Timestamp(microseconds: Int64(before.timeIntervalSince1970) * 1_000_000)
        }
    }

    /// The first instant of a date in a zone: where clocks skip midnight, the first that the day has.
    private static func midnight(_ date: LocalDate, _ zone: TimeZone) -> Timestamp {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let noon = Int64(date.daysSinceEpoch) * 86_400 + 43_200
        let offset = Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(noon))))
        let start = calendar.startOfDay(for: Date(timeIntervalSince1970: Double(noon - offset)))
        return Timestamp(microseconds: Int64(start.timeIntervalSince1970) * 1_000_000)
    }
}
