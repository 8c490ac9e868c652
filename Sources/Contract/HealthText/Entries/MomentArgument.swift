package import Foundation
package import Samples

/// A moment as people type it: `7:30`, `yesterday 7:30`, `last monday 7:30`, `15.3.2024 7:30`, `2024-03-15T07:30:00+01:00`, `90min`, `now`.
package struct MomentArgument: Hashable, Sendable {
    /// The typed text.
    package let text: String
    private let meaning: Meaning

    private enum Meaning: Hashable {
        case now
        case instant(Timestamp)
        case secondsAgo(Int64)
        /// A time on the wall clock of a zone, in seconds after midnight.
        ///
        /// Without a day, it is the last time at which the clock showed it.
        case wall(TypedDay?, Int64)
        /// A day without a time.
        case day(TypedDay)
    }

    package static let forms = """
        a time of day (7:30, 8:15pm), a day and a time ("yesterday 7:30", "last monday 7:30", "15.3. 7:30", "2024-03-15 07:30"), the same \
        with an offset (2024-03-15T07:30:00+01:00), a span back from now (90min, 2h, "2 hours ago"), or now
        """

    /// Whether only a day was typed, without a time.
    package var isDay: Bool { if case .day = meaning { true } else { false } }

    /// Whether only a time was typed, without a day.
    package var isTimeOfDay: Bool { if case .wall(nil, _) = meaning { true } else { false } }

    /// `nil` for any other text.
    package init?(_ text: String) {
        self.text = text
        let words = MomentArgument.words(text)
        if words == ["now"] {
            meaning = .now
        } else if let time = try? Timestamp(parsing: text) {
            meaning = .instant(time)
        } else if let seconds = MomentArgument.span(text) {
            meaning = .secondsAgo(seconds)
        } else if let day = TypedDay(text) {
            meaning = .day(day)
        } else if words.count == 1, let seconds = MomentArgument.clock(words[0]) {
            meaning = .wall(nil, seconds)
        } else if let (day, clock) = MomentArgument.parts(words) {
            if let seconds = MomentArgument.clock(clock), let day = TypedDay(day) {
                meaning = .wall(day, seconds)
            } else if let time = MomentArgument.withOffset(day, clock) {
                meaning = .instant(time)
            } else {
                return nil
            }
        } else {
            return nil
        }
    }

    /// The words in lower case, with am or pm attached to the time: `8:15 p.m.` becomes `8:15pm`.
    private static func words(_ text: String) -> [String] {
        var words = text.lowercased().split(separator: " ").map { word in
            let plain = String(word).replacing(".", with: "")
            return plain.hasSuffix("am") || plain.hasSuffix("pm") ? plain : String(word)
        }
        if let place = words.firstIndex(where: ["am", "pm"].contains), place > 0 {
            words[place - 1] += words.remove(at: place)
        }
        return words
    }

    /// Splits a day and a time: `2024-03-15T07:30`, `2024-03-15 07:30`, `15.3.2024, 7:30`, `yesterday at 7:30`, `8am yesterday`.
    private static func parts(_ words: [String]) -> (day: String, clock: String)? {
        guard words.count > 1, let clock = words.last else {
            let parts = words.first?.split(separator: "t", maxSplits: 1).map(String.init) ?? []
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        }
        if self.clock(words[0]) != nil {
            return (words.dropFirst().filter { $0 != "on" }.joined(separator: " "), words[0])
        }
        let day = words.dropLast().filter { $0 != "at" }.joined(separator: " ")
        return (day.hasSuffix(",") ? String(day.dropLast()) : day, clock)
    }

    /// `7:30`, `07:30:05`, `8:15pm` or `8am`.
    private static func clock(_ text: String) -> Int64? {
        if text.hasSuffix("am") || text.hasSuffix("pm") {
            let time = String(text.dropLast(2))
            let hour = Int64(time.prefix { $0 != ":" })
            guard let hour, (1...12).contains(hour), let seconds = clock(time.contains(":") ? time : "\(time):00")
            else { return nil }
            // Noon is 12pm, and midnight is 12am.
            return seconds + (text.hasSuffix("pm") ? 43_200 : 0) - (hour == 12 ? 43_200 : 0)
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), (1...2).contains(parts[0].count),
            parts.dropFirst().allSatisfy({ $0.count == 2 }),
            parts.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isNumber } })
        else { return nil }
        let numbers = parts.compactMap { Int64($0) }
        guard numbers[0] < 24, numbers[1] < 60, numbers.count < 3 || numbers[2] < 60 else { return nil }
        return numbers[0] * 3_600 + numbers[1] * 60 + (numbers.count > 2 ? numbers[2] : 0)
    }

    /// Reads a day and `7:30+01:00`, which distinguishes the two occurrences of an hour.
    private static func withOffset(_ day: String, _ clock: String) -> Timestamp? {
        guard let sign = clock.lastIndex(where: { "+-z".contains($0) }), let date = LocalDate(typed: day),
            let seconds = self.clock(String(clock[..<sign]))
        else { return nil }
        let time = [seconds / 3_600, seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return try? Timestamp(parsing: "\(date.text)T\(time.joined(separator: ":"))\(clock[sign...])")
    }

    /// The seconds in `90min`, `2h`, `3d`, `2 hours ago`.
    package static func span(_ text: String) -> Int64? {
        let words = text.lowercased().split(separator: " ")
        if words.count == 3, words[2] == "ago" {
            let units = ["minute": "min", "min": "min", "hour": "h"]
            let number = ["a", "an", "one"].contains(words[0]) ? "1" : words[0]
            return units[words[1].hasSuffix("s") ? String(words[1].dropLast()) : String(words[1])]
                .flatMap { span(number + $0) }
        }
        for (suffix, seconds) in [("min", 60), ("h", 3_600), ("d", 86_400)] as [(String, Int64)]
        where text.hasSuffix(suffix) {
            let digits = text.dropLast(suffix.count)
            guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let count = Int64(digits),
                count <= 100_000
            else { return nil }
            return count * seconds
        }
        return nil
    }

    // MARK: - Interpretation

    /// The interpretation of a moment by the clock of a zone.
    package enum Reading: Hashable {
        /// One instant; `isLocal` if the zone was needed to determine it.
        case one(Timestamp, isLocal: Bool)
        /// The hour occurred twice: the earlier and the later instant.
        case two(Timestamp, Timestamp)
    }

    /// Rejects a day without a time.
    ///
    /// For the end of an interval, or in an edit, noon would be a guess.
    package func refuseDay() throws(EntryError) {
        if isDay { throw EntryError("\(text): add the time of day, such as \"\(text) 7:30\"") }
    }

    /// The instant as the limit of a range.
    ///
    /// Accepts future times, and times that the clocks skip or show twice.
    package func border(by clock: PersonClock) -> Timestamp {
        func instant(_ day: TypedDay?, _ seconds: Int64) -> Timestamp {
            let date = day?.date(today: clock.today) ?? clock.today
            return clock.local(
                LocalDay.instant(at: Int64(date.daysSinceEpoch) * 86_400 + seconds, in: clock.zone) * 1_000_000)
        }
        return switch meaning {
        case .now: clock.local(clock.now)
        case .instant(let time): time
        case .secondsAgo(let seconds): clock.local(clock.now - seconds * 1_000_000)
        case .wall(let day, let seconds): instant(day, seconds)
        case .day(let day): instant(day, 0)
        }
    }

    /// Interprets the moment.
    ///
    /// A day without a time means its noon, or now if noon is in the future.
    ///
    /// - Parameters:
    ///   - now: microseconds since 1970, by the hub's clock.
    ///   - zone: the zone of the wall clock.
    /// - Throws: ``EntryError`` for a time that the clocks skipped, for a time later today, and for a time outside the range of records.
    package func reading(now: Int64, in zone: TimeZone) throws(EntryError) -> Reading {
        let reading = try reading(of: meaning, now: now, in: zone)
        let times =
            switch reading {
            case .one(let time, _): [time]
            case .two(let first, let second): [first, second]
            }
        guard times.allSatisfy(\.isRepresentable) else {
            throw EntryError("\(text): \(Timestamp.ParseError.instantOutOfRange)")
        }
        return reading
    }

    private func reading(of meaning: Meaning, now: Int64, in zone: TimeZone) throws(EntryError) -> Reading {
        switch meaning {
        case .instant(let time): return .one(time, isLocal: false)
        case .now: return .one(MomentArgument.local(now / 1_000_000, zone), isLocal: true)
        case .secondsAgo(let seconds): return .one(MomentArgument.local(now / 1_000_000 - seconds, zone), isLocal: true)
        case .day(let day):
            let today = MomentArgument.local(now / 1_000_000, zone).localDate
            // Use noon, which is almost never on another date; for today, use at most the current time.
            let noon = LocalDay.instant(at: Int64(day.date(today: today).daysSinceEpoch) * 86_400 + 43_200, in: zone)
            let isToday = day.date(today: today) == today
            return .one(MomentArgument.local(isToday ? min(noon, now / 1_000_000) : noon, zone), isLocal: true)
        case .wall(let day, let seconds):
            let today = MomentArgument.local(now / 1_000_000, zone).localDate
            let date = day?.date(today: today) ?? today
            let wall = Int64(date.daysSinceEpoch) * 86_400 + seconds
            // Clocks change by less than a day, so the offset of the day before or after applies.
            let offsets = Set([wall - 86_400, wall + 86_400].map { MomentArgument.offset(of: zone, at: $0) })
            let instants = offsets.map { wall - $0 }.filter { wall - $0 == MomentArgument.offset(of: zone, at: $0) }
                .sorted()
            guard let first = instants.first else {
                throw EntryError(
                    "\(text): that day the clocks of \(zone.identifier) skipped this hour; say which time you mean")
            }
            if day == nil, first > now / 1_000_000 {
                throw EntryError("\(text) today is still to come; say \"yesterday \(text)\", or the date")
            }
            let times = instants.map { MomentArgument.local($0, zone) }
            return times.count == 1 ? .one(times[0], isLocal: true) : .two(times[0], times[times.count - 1])
        }
    }

    private static func local(_ seconds: Int64, _ zone: TimeZone) -> Timestamp {
        Timestamp(microseconds: seconds * 1_000_000).local(in: zone)
    }

    private static func offset(of zone: TimeZone, at seconds: Int64) -> Int64 {
        Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
    }
}

/// A zone's wall clock and the current time.
package struct PersonClock: Sendable {
    package let zone: TimeZone
    /// Microseconds since 1970, by the hub's clock.
    package let now: Int64

    /// - Throws: ``EntryError`` if this machine does not know the zone.
    package init(zone identifier: String?, now: Int64) throws(EntryError) {
        guard let zone = identifier.map({ TimeZone(identifier: $0) }) ?? .current else {
            throw EntryError("this machine does not know the zone \(identifier ?? ""): install tzdata, or correct it")
        }
        (self.zone, self.now) = (zone, now)
    }

    /// An instant on the zone's clock.
    package func local(_ microseconds: Int64) -> Timestamp { Timestamp(microseconds: microseconds).local(in: zone) }

    /// The current date.
    package var today: LocalDate { local(now).localDate }
}

extension Sample {
    /// A time on the clock at the place of measurement, if the sample names its zone.
    package func there(_ time: Timestamp) -> Timestamp {
        zone.flatMap { TimeZone(identifier: $0) }.map { time.local(in: $0) } ?? time
    }
}
