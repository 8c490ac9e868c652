/// An instant with the local time it was measured in, as RFC 3339 writes it.
///
/// Inside the hub, time is `Int64` microseconds since 1970-01-01T00:00:00Z, never a float. The offset gives the local wall clock at the
/// place of measurement; `nil` means that only the instant is known, which RFC 9557 assigns to `Z`.
///
/// Two timestamps are equal if both instant *and* offset are equal; compare `microseconds` to order events.
public struct Timestamp: Hashable, Sendable {
    /// Microseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    public var microseconds: Int64
    /// Minutes east of UTC, −1439…1439; `nil` if the local time is unknown.
    public var offsetMinutes: Int16?

    /// The instant `microseconds` after 1970-01-01T00:00:00Z, on a clock `offsetMinutes` east of UTC.
    ///
    /// The values are not checked. If they come from a device, check ``isRepresentable`` before you write them.
    public init(microseconds: Int64, offsetMinutes: Int16? = nil) {
        self.microseconds = microseconds
        self.offsetMinutes = offsetMinutes
    }
}

extension Timestamp {
    /// The instants that have a text with every offset: 0001-01-02T00:00:00Z to 9999-12-30T23:59:59.999999Z.
    ///
    /// The range is one day shorter at each end than RFC 3339's years, so that no offset leads out of them.
    public static let range: ClosedRange<Int64> = -62_135_510_400_000_000...253_402_214_399_999_999

    /// Whether the timestamp has a text: the instant is in ``range`` and the offset in −1439…1439.
    public var isRepresentable: Bool {
        Timestamp.range.contains(microseconds) && (-1_439...1_439).contains(offsetMinutes ?? 0)
    }

    /// Why a text is not a timestamp.
    public enum ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The form is not RFC 3339, or the offset is missing.
        case malformed
        /// The form is right, but a field has a value that it cannot have.
        case outOfRange(field: Field)
        /// All fields are right, but the instant is outside ``Timestamp/range``.
        case instantOutOfRange
        /// The second is 60.
        case leapSecond
        /// The fraction has a seventh digit.
        case tooPrecise

        /// A part of the text.
        public enum Field: String, Hashable, Sendable {
            /// The four digits of the year.
            case year
            /// 01 to 12.
            case month
            /// 01 to the last day of that month.
            case day
            /// 00 to 23.
            case hour
            /// 00 to 59.
            case minute
            /// 00 to 59.
            case second
            /// −23:59 to +23:59.
            case offset
        }

        /// One line for people, without the text itself.
        public var description: String {
            switch self {
            case .malformed: "expected RFC 3339 with an offset, such as 2024-03-15T07:30:05+01:00"
            case .outOfRange(.day): "there is no such day in that month"
            case .outOfRange(.offset): "the offset is out of range; allowed is -23:59 to +23:59"
            case .outOfRange(let field): "the \(field.rawValue) is out of range"
            case .instantOutOfRange:
                "the instant is out of range; allowed is 0001-01-02T00:00:00Z to 9999-12-30T23:59:59.999999Z"
            case .leapSecond: "second 60 (a leap second) cannot be stored; send second 59 or the next full minute"
            case .tooPrecise: "finer than a microsecond; at most six digits may follow the decimal point"
            }
        }
    }

    /// Reads RFC 3339: `2024-03-15T07:30:05.25+01:00`, or `…Z` (also `-00:00`) if the local offset is unknown.
    ///
    /// Nothing is rounded: a seventh fraction digit is an error, even a zero.
    /// - Throws: ``ParseError``.
    public init(parsing text: some StringProtocol) throws(ParseError) {
        var copy = String(text)
        let result: Result<Timestamp, ParseError> = copy.withUTF8 { bytes in
            do throws(ParseError) { return .success(try Timestamp(parsing: UnsafeRawBufferPointer(bytes))) } catch {
                return .failure(error)
            }
        }
        self = try result.get()
    }

    /// Reads RFC 3339 from bytes, as ``init(parsing:)-(StringProtocol)`` does from text; allocates nothing.
    /// - Throws: ``ParseError``.
    public init(parsing bytes: UnsafeRawBufferPointer) throws(ParseError) {
        var reader = TimestampReader(bytes)
        self = try reader.read()
    }

    /// The timestamp as RFC 3339, with seconds always, and with a fraction only if it is not zero, without trailing zeros.
    ///
    /// Traps if the timestamp is not ``isRepresentable``.
    public var text: String {
        String(unsafeUninitializedCapacity: Timestamp.maximumTextLength) { buffer in
            write(to: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    /// Length of the longest text that `write(to:)` writes: `2024-03-15T07:30:05.123456+01:00`.
    public static let maximumTextLength = 32

    /// Writes the text into `buffer`, which has room for `maximumTextLength` bytes; returns the number of bytes written.
    ///
    /// Traps as ``text`` does, because a text with a wrong time would be worse.
    public func write(to buffer: UnsafeMutableRawBufferPointer) -> Int {
        precondition(isRepresentable, "a timestamp outside Timestamp.range, or an offset of a day or more, has no text")
        var writer = TimestampWriter(buffer)
        writer.write(self)
        return writer.count
    }

    /// The instant a microsecond later, on the same clock; `nil` after the last in ``range``.
    public var next: Timestamp? {
        guard microseconds < Timestamp.range.upperBound else { return nil }
        return Timestamp(microseconds: microseconds + 1, offsetMinutes: offsetMinutes)
    }

    /// The calendar date on the wall clock of `offsetMinutes`, or in UTC if the offset is unknown.
    public var localDate: LocalDate {
        let local = wholeSeconds + Int64(offsetMinutes ?? 0) * 60
        return LocalDate(daysSinceEpoch: Int(local.flooredDivision(by: 86_400)))
    }

    /// Seconds since 1970-01-01T00:00:00Z, rounded down.
    ///
    /// Adding an offset to it cannot overflow.
    var wholeSeconds: Int64 { microseconds.flooredDivision(by: 1_000_000) }
}

extension Int64 {
    /// Division that rounds down, also for negative numbers, as calendar arithmetic needs.
    package func flooredDivision(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}

/// Reads one RFC 3339 text, byte by byte.
private struct TimestampReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func read() throws(Timestamp.ParseError) -> Timestamp {
        let year = try digits(4)
        try expect(UInt8(ascii: "-"))
        let month = try digits(2)
        try expect(UInt8(ascii: "-"))
        let day = try digits(2)
        guard position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "t") else { throw .malformed }
        position += 1
        let hour = try digits(2)
        try expect(UInt8(ascii: ":"))
        let minute = try digits(2)
        try expect(UInt8(ascii: ":"))
        let second = try digits(2)
        let fraction = try microsecondFraction()
        let offset = try readOffset()
        guard position == bytes.count else { throw .malformed }

        guard year >= 1 else { throw .outOfRange(field: .year) }
        guard (1...12).contains(month) else { throw .outOfRange(field: .month) }
        guard day >= 1, day <= LocalDate.daysInMonth(month, year: year) else { throw .outOfRange(field: .day) }
        guard hour <= 23 else { throw .outOfRange(field: .hour) }
        guard minute <= 59 else { throw .outOfRange(field: .minute) }
        guard second != 60 else { throw .leapSecond }
        guard second <= 59 else { throw .outOfRange(field: .second) }

        let days = Int64(LocalDate(year: year, month: month, day: day).daysSinceEpoch)
        let seconds = days * 86_400 + Int64(hour * 3_600 + minute * 60 + second) - Int64(offset ?? 0) * 60
        let microseconds = seconds * 1_000_000 + Int64(fraction)
        guard Timestamp.range.contains(microseconds) else { throw .instantOutOfRange }
        return Timestamp(microseconds: microseconds, offsetMinutes: offset)
    }

    private mutating func digits(_ count: Int) throws(Timestamp.ParseError) -> Int {
        guard position + count <= bytes.count else { throw .malformed }
        var value = 0
        for _ in 0..<count {
            let digit = Int(bytes[position]) - 0x30
            guard (0...9).contains(digit) else { throw .malformed }
            value = value * 10 + digit
            position += 1
        }
        return value
    }

    private mutating func expect(_ byte: UInt8) throws(Timestamp.ParseError) {
        guard position < bytes.count, bytes[position] == byte else { throw .malformed }
        position += 1
    }

    private mutating func microsecondFraction() throws(Timestamp.ParseError) -> Int {
        guard position < bytes.count, bytes[position] == UInt8(ascii: ".") else { return 0 }
        position += 1
        var value = 0
        var count = 0
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) {
            guard count < 6 else { throw .tooPrecise }
            value = value * 10 + Int(bytes[position] - 0x30)
            count += 1
            position += 1
        }
        guard count > 0 else { throw .malformed }
        while count < 6 {
            value *= 10
            count += 1
        }
        return value
    }

    private mutating func readOffset() throws(Timestamp.ParseError) -> Int16? {
        guard position < bytes.count else { throw .malformed }
        let sign = bytes[position]
        position += 1
        if sign | 0x20 == UInt8(ascii: "z") { return nil }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { throw .malformed }
        let hours = try digits(2)
        try expect(UInt8(ascii: ":"))
        let minutes = try digits(2)
        guard hours <= 23, minutes <= 59 else { throw .outOfRange(field: .offset) }
        let offset = hours * 60 + minutes
        if sign == UInt8(ascii: "-") { return offset == 0 ? nil : Int16(-offset) }
        return Int16(offset)
    }
}

/// Writes one RFC 3339 text into a buffer that is large enough.
private struct TimestampWriter {
    private let buffer: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(_ buffer: UnsafeMutableRawBufferPointer) { self.buffer = buffer }

    mutating func write(_ timestamp: Timestamp) {
        let local = timestamp.microseconds + Int64(timestamp.offsetMinutes ?? 0) * 60_000_000
        let days = local.flooredDivision(by: 86_400_000_000)
        let ofDay = Int(local - days * 86_400_000_000)
        let date = LocalDate(daysSinceEpoch: Int(days))
        digits(date.year, 4)
        byte("-")
        digits(date.month, 2)
        byte("-")
        digits(date.day, 2)
        byte("T")
        let seconds = ofDay / 1_000_000
        digits(seconds / 3_600, 2)
        byte(":")
        digits(seconds / 60 % 60, 2)
        byte(":")
        digits(seconds % 60, 2)
        fraction(ofDay % 1_000_000)
        guard let offset = timestamp.offsetMinutes else { return byte("Z") }
        byte(offset < 0 ? "-" : "+")
        digits(abs(Int(offset)) / 60, 2)
        byte(":")
        digits(abs(Int(offset)) % 60, 2)
    }

    private mutating func fraction(_ microseconds: Int) {
        guard microseconds > 0 else { return }
        byte(".")
        digits(microseconds, 6)
        while buffer[count - 1] == UInt8(ascii: "0") { count -= 1 }
    }

    private mutating func digits(_ value: Int, _ width: Int) {
        var rest = value
        for place in stride(from: count + width - 1, through: count, by: -1) {
            buffer[place] = UInt8(0x30 + rest % 10)
            rest /= 10
        }
        count += width
    }

    private mutating func byte(_ scalar: Unicode.Scalar) {
        buffer[count] = UInt8(ascii: scalar)
        count += 1
    }
}
