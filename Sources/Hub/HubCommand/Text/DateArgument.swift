import Foundation
import HealthText
import Samples

/// A moment as people type it: `2026-03-01`, `yesterday`, `7d`, `2026-03-01T07:30:00+01:00`.
struct DateArgument: Hashable {
    /// The text on the command line.
    let text: String
    private let meaning: Meaning

    private enum Meaning: Hashable {
        /// A whole day of the calendar.
        case day(TypedDay)
        case instant(Timestamp)
        case secondsAgo(Int64)
        /// A day and a time of it, or a time of today.
        case moment(MomentArgument)
        /// The same date and time this many years before.
        case yearsAgo(Int)
    }

    static let forms = """
        \(TypedDay.forms), with a time ("yesterday 7:30", 8:15pm), a span back from now (90min, 12h, 7d, 4w, 5y) or an RFC 3339 time \
        (2026-03-01T07:30:00+01:00)
        """

    private static let spans: [(suffix: String, seconds: Int64)] = [
        ("min", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800),
    ]

    /// `nil` for any other text.
    init?(_ text: String) {
        self.text = text
        if let day = TypedDay(text) {
            meaning = .day(day)
        } else if let time = try? Timestamp(parsing: text) {
            meaning = .instant(time)
        } else if let span = DateArgument.spans.first(where: { text.hasSuffix($0.suffix) }),
            case let digits = text.dropLast(span.suffix.count), digits.allSatisfy({ $0.isASCII && $0.isNumber }),
            let count = Int64(digits), count <= 1_000_000
        {
            meaning = .secondsAgo(count * span.seconds)
        } else if text.hasSuffix(" ago"), let seconds = MomentArgument.span(text) {
            meaning = .secondsAgo(seconds)
        } else if text.hasSuffix("y"), text.dropLast().allSatisfy({ $0.isASCII && $0.isNumber }),
            let count = Int(text.dropLast()), count <= 10_000
        {
            meaning = .yearsAgo(count)
        } else if let moment = MomentArgument(text) {
            meaning = .moment(moment)
        } else {
            return nil
        }
    }

    /// The first instant of the moment, limited to the range of records.
    ///
    /// A day gives its midnight: the hub derives the dates from that.
    ///
    /// - Parameter clock: the clock that defines days.
    func start(by clock: PersonClock) -> Timestamp { DateArgument.within(instant(clock, dayOffset: 0)) }

    /// The first instant after the moment; a day counts as a whole.
    func end(by clock: PersonClock) -> Timestamp { DateArgument.within(instant(clock, dayOffset: 1)) }

    /// Whether it is a whole day without any instant that a record can have.
    func isBeyondRecords(by clock: PersonClock) -> Bool {
        guard case .day = meaning else { return false }
        let (start, end) = (instant(clock, dayOffset: 0), instant(clock, dayOffset: 1))
        return start.microseconds > Timestamp.range.upperBound || end.microseconds <= Timestamp.range.lowerBound
    }

    /// The day itself, or the day of the moment.
    func day(by clock: PersonClock) -> LocalDate {
        if case .day(let day) = meaning { return day.date(today: clock.today) }
        return start(by: clock).local(in: clock.zone).localDate
    }

    /// The last day before the end: for a moment, the day of the time just before it.
    func lastDay(by clock: PersonClock) -> LocalDate {
        if case .day = meaning { return day(by: clock) }
        return clock.local(end(by: clock).microseconds - 1).localDate
    }

    private static func within(_ time: Timestamp) -> Timestamp {
        guard !Timestamp.range.contains(time.microseconds) else { return time }
        return Timestamp(microseconds: time.microseconds < 0 ? Timestamp.range.lowerBound : Timestamp.range.upperBound)
    }

    private func instant(_ clock: PersonClock, dayOffset: Int) -> Timestamp {
        switch meaning {
        case .day(let day):
            return LocalDay.start(of: day.date(today: clock.today).adding(days: dayOffset), in: clock.zone)
        case .instant(let time): return time
        case .moment(let moment): return moment.border(by: clock)
        case .secondsAgo(let seconds): return clock.local(clock.now - seconds * 1_000_000)
        case .yearsAgo(let years):
            let moment = Date(timeIntervalSince1970: Double(clock.now) / 1_000_000)
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = clock.zone
            let before = calendar.date(byAdding: .year, value: -years, to: moment) ?? .distantPast
            return clock.local(Int64(before.timeIntervalSince1970) * 1_000_000)
        }
    }
}
