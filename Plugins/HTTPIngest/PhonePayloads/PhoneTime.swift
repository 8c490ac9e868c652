import Samples

/// Reads times as phones print them.
enum PhoneTime {
    /// Reads `yyyy-MM-dd HH:mm:ss ±HHMM`, with milliseconds, on a twelve-hour clock (`h:mm:ss am`), or RFC 3339.
    ///
    /// Digits after the sixth of a fraction are cut off. The words for the halves of the day may be of any language and stand before or after the
    /// time, and the digits may be of any script.
    ///
    /// `nil` if the form differs, the day does not exist, or the year fits several calendars.
    static func read(_ text: String) -> Timestamp? {
        var copy = text
        return copy.withUTF8 { read(UnsafeRawBufferPointer($0)) }
    }

    static func read(_ bytes: UnsafeRawBufferPointer) -> Timestamp? {
        if let time = plain(bytes) { return time }
        // The forms that most phones print were read above.
        guard bytes.count <= longest, var text = translated(String(decoding: bytes, as: UTF8.self)) else { return nil }
        return text.withUTF8 { plain(UnsafeRawBufferPointer($0)) }
    }

    private static func plain(_ bytes: UnsafeRawBufferPointer) -> Timestamp? {
        var reader = Reader(bytes)
        return reader.read()
    }

    /// Maximum length of a text in bytes; words for halves of the day have up to 60.
    private static let longest = 160

    /// The text with English digits, spaces and halves of the day; `nil` if it does not have this form.
    private static func translated(_ text: String) -> String? {
        guard let (scalars, _) = ForeignDate.plain(text) else { return nil }
        let rest = scalars[...]
        func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }
        func string(_ part: ArraySlice<Unicode.Scalar>) -> String { String(String.UnicodeScalarView(part)) }
        // Find the offset from the end.
        let mark = rest.lastIndex { "+-Zz".unicodeScalars.contains($0) }
        guard let mark, rest.count > 10, mark >= rest.startIndex + 10 else { return nil }
        let (date, offset) = (rest.prefix(10), rest[mark...])
        var middle = rest[(rest.startIndex + 10)..<mark]
        if middle.first == "T", middle.dropFirst().first.map(isDigit) ?? false { middle.removeFirst() }
        middle.trim { $0 == " " }
        guard let first = middle.firstIndex(where: isDigit), let last = middle.lastIndex(where: isDigit) else {
            return nil
        }
        let clock = middle[first...last]
        guard clock.allSatisfy({ isDigit($0) || $0 == ":" || $0 == "." }) else { return nil }
        let words = [middle[..<first], middle[(last + 1)...]].map(string).filter { $0.contains { $0 != " " } }
        guard let word = words.first else { return "\(string(date)) \(string(clock)) \(string(offset))" }
        guard words.count == 1, let hour = Int(string(clock.prefix(while: isDigit))),
            let isAfternoon = HalfDayWords.isAfternoon(word, at: hour)
        else { return nil }
        return "\(string(date)) \(string(clock)) \(isAfternoon ? "pm" : "am") \(string(offset))"
    }

    /// A local date and time without an offset, as `yyyy-MM-dd HH:mm:ss` or with a `T`: since 1970, as if the clock were in UTC.
    static func readLocal(_ text: String) -> Int64? {
        read(text + "Z").map(\.microseconds)
    }

    /// The instant for a key: `20260210T053102Z`, with milliseconds if they are not zero and `keepsMilliseconds` is set.
    static func key(_ microseconds: Int64, keepsMilliseconds: Bool = false) -> String {
        let seconds = microseconds.flooredDivision(by: 1_000_000)
        let milliseconds = Int((microseconds - seconds * 1_000_000) / 1_000)
        let days = seconds.flooredDivision(by: 86_400)
        let date = LocalDate(daysSinceEpoch: Int(days))
        let rest = Int(seconds - days * 86_400)
        return String(unsafeUninitializedCapacity: 24) { buffer in
            var count = 0
            func digits(_ value: Int, _ width: Int) {
                var rest = value
                for place in stride(from: count + width - 1, through: count, by: -1) {
                    buffer[place] = UInt8(0x30 + rest % 10)
                    rest /= 10
                }
                count += width
            }
            digits(date.year, 4)
            digits(date.month, 2)
            digits(date.day, 2)
            buffer[count] = UInt8(ascii: "T")
            count += 1
            digits(rest / 3_600, 2)
            digits(rest / 60 % 60, 2)
            digits(rest % 60, 2)
            if keepsMilliseconds, milliseconds != 0 {
                buffer[count] = UInt8(ascii: ".")
                count += 1
                digits(milliseconds, 3)
            }
            buffer[count] = UInt8(ascii: "Z")
            return count + 1
        }
    }
}

private struct Reader {
    let bytes: UnsafeRawBufferPointer
    var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func read() -> Timestamp? {
        guard bytes.count <= 48, let year = digits(4...4).flatMap(ForeignDate.gregorianYear), take("-"),
            let month = digits(2...2), take("-"),
            let day = digits(2...2), take("T") || take("t") || space(), var hour = digits(1...2), take(":"),
            let minute = digits(2...2)
        else { return nil }
        // openScale-sync by MQTT prints no seconds.
        var second = 0
        if take(":") {
            guard let read = digits(2...2) else { return nil }
            second = read
        }
        guard let fraction = fraction(), minute <= 59, second <= 59 else { return nil }
        let mark = position
        if space(), let isAfternoon = halfOfDay() {
            // Japan's clock shows the hour after noon as 0.
            guard (0...12).contains(hour) else { return nil }
            hour = hour % 12 + (isAfternoon ? 12 : 0)
        } else {
            position = mark
        }
        guard hour <= 23, let date = LocalDate(year, month, day), let offset = offset(), position == bytes.count
        else { return nil }
        let seconds =
            Int64(date.daysSinceEpoch) * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
            - Int64(offset.minutes ?? 0) * 60
        let time = Timestamp(microseconds: seconds * 1_000_000 + Int64(fraction), offsetMinutes: offset.minutes)
        return Timestamp.range.contains(time.microseconds) ? time : nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func digits(_ width: ClosedRange<Int>) -> Int? {
        var (value, count) = (0, 0)
        while count < width.upperBound, position < bytes.count, bytes[position] &- 0x30 <= 9 {
            value = value * 10 + Int(bytes[position] - 0x30)
            (position, count) = (position + 1, count + 1)
        }
        return count >= width.lowerBound ? value : nil
    }

    /// Skips a space of any kind that phones print: U+0020, U+00A0, U+202F.
    private mutating func space() -> Bool {
        if take(" ") { return true }
        for form in [[0xC2, 0xA0], [0xE2, 0x80, 0xAF]] as [[UInt8]]
        where position + form.count <= bytes.count && form.indices.allSatisfy({ bytes[position + $0] == form[$0] }) {
            position += form.count
            return true
        }
        return false
    }

    private mutating func halfOfDay() -> Bool? {
        guard position + 2 <= bytes.count, bytes[position + 1] | 0x20 == UInt8(ascii: "m") else { return nil }
        let letter = bytes[position] | 0x20
        guard letter == UInt8(ascii: "a") || letter == UInt8(ascii: "p") else { return nil }
        position += 2
        return letter == UInt8(ascii: "p")
    }

    /// Microseconds; `nil` for a decimal point without digits.
    private mutating func fraction() -> Int? {
        guard take(".") else { return 0 }
        var (value, count) = (0, 0)
        while position < bytes.count, bytes[position] &- 0x30 <= 9 {
            if count < 6 { value = value * 10 + Int(bytes[position] - 0x30) }
            (position, count) = (position + 1, count + 1)
        }
        guard (1...12).contains(count) else { return nil }
        for _ in min(count, 6)..<6 { value *= 10 }
        return value
    }

    private mutating func offset() -> (minutes: Int16?, Void)? {
        _ = space()
        if take("Z") || take("z") { return (nil, ()) }
        let isWest = take("-")
        guard isWest || take("+"), let hours = digits(2...2) else { return nil }
        _ = take(":")
        guard let minutes = digits(2...2), hours <= 23, minutes <= 59 else { return nil }
        let offset = Int16(hours * 60 + minutes)
        return (isWest ? -offset : offset, ())
    }
}

extension ArraySlice {
    /// Removes such elements from both ends.
    fileprivate mutating func trim(_ isLeft: (Element) -> Bool) {
        while let element = first, isLeft(element) { removeFirst() }
        while let element = last, isLeft(element) { removeLast() }
    }
}
