import JSON
import Samples

/// An instant in an export.
///
/// Apple writes whole seconds; other programs also write fractions.
public struct ExportTime: Hashable, Sendable, Comparable {
    /// Since 1970.
    public var seconds: Int64
    /// 0 to 999,999.
    public var microseconds: Int64

    public init(seconds: Int64, microseconds: Int64 = 0) {
        (self.seconds, self.microseconds) = (seconds, microseconds)
    }

    func seconds(since start: ExportTime) -> Double {
        Double(seconds - start.seconds) + Double(microseconds - start.microseconds) / 1_000_000
    }

    public static func < (a: ExportTime, b: ExportTime) -> Bool {
        (a.seconds, a.microseconds) < (b.seconds, b.microseconds)
    }
}

/// Reads the times of an export, `2026-02-10 06:31:00 +0100`, as instants.
///
/// The offset is the phone's at the time of the export, not at the time of measurement. The reader caches the last day, because the next
/// time is usually on the same day.
public struct ExportTimeReader {
    private var lastDay: (UInt64, UInt16) = (0, 0)
    private var lastSeconds: Int64 = 0

    /// Whether ``TimeText`` read the last time from a form that differs by language or calendar.
    private(set) var wasForeign = false

    public init() {}

    /// Reads any unambiguous form, with fractions of a second; `nil` for others.
    public mutating func time(_ bytes: UnsafeRawBufferPointer) -> ExportTime? {
        wasForeign = false
        if let seconds = seconds(bytes) { return ExportTime(seconds: seconds) }
        guard bytes.count <= TimeText.longest,
            let (time, isForeign) = TimeText.read(String(decoding: bytes, as: UTF8.self))
        else { return nil }
        wasForeign = isForeign
        return time
    }

    mutating func time(_ text: String) -> ExportTime? { Array(text.utf8).withUnsafeBytes { time($0) } }

    /// Seconds since 1970; `nil` for another form or calendar, and for a date or time that does not exist.
    ///
    /// Also accepts variants that other programs write: no space before the offset, a colon in the offset, and `T` for the first space.
    public mutating func seconds(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard bytes.count >= 24, bytes.count <= 27 else { return nil }
        guard let day = day(bytes), bytes[10] == 0x20 || bytes[10] == 0x54, bytes[13] == 0x3A, bytes[16] == 0x3A,
            let hour = Self.two(bytes, 11), let minute = Self.two(bytes, 14), let second = Self.two(bytes, 17),
            hour < 24, minute < 60, second < 60
        else { return nil }
        var place = 19
        if bytes[place] == 0x20 { place += 1 }
        guard place + 4 < bytes.count, bytes[place] == 0x2B || bytes[place] == 0x2D else { return nil }
        let isWest = bytes[place] == 0x2D
        guard let hours = Self.two(bytes, place + 1) else { return nil }
        place += 3
        if bytes[place] == 0x3A { place += 1 }
        guard place + 2 == bytes.count, let minutes = Self.two(bytes, place), hours < 24, minutes < 60 else {
            return nil
        }
        let offset = Int64(hours * 3_600 + minutes * 60)
        let seconds = day + Int64(hour * 3_600 + minute * 60 + second) + (isWest ? offset : -offset)
        return Timestamp.range.contains(seconds * 1_000_000) ? seconds : nil
    }

    private mutating func day(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        let head = bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        let tail = bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self)
        if head == lastDay.0, tail == lastDay.1 { return lastSeconds }
        guard bytes[4] == 0x2D, bytes[7] == 0x2D, let century = Self.two(bytes, 0), let year = Self.two(bytes, 2),
            let month = Self.two(bytes, 5), let day = Self.two(bytes, 8),
            case let written = century * 100 + year, ForeignDate.gregorianYear(written) == written,
            let date = LocalDate(written, month, day)
        else { return nil }
        lastDay = (head, tail)
        lastSeconds = Int64(date.daysSinceEpoch) * 86_400
        return lastSeconds
    }

    @inline(__always)
    private static func two(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> Int? {
        let (first, second) = (bytes[place] &- 0x30, bytes[place + 1] &- 0x30)
        return first < 10 && second < 10 ? Int(first) * 10 + Int(second) : nil
    }
}

extension Timestamp {
    /// The instant that many `seconds` after a second since 1970; `nil` if it is outside the range of records.
    init?(_ second: Int64, adding seconds: Double) {
        // 10¹² seconds exceed the range of timestamps, and their microseconds still fit in an integer.
        guard seconds.magnitude < 1e12, second.magnitude < 1_000_000_000_000 else { return nil }
        self.init(microseconds: second * 1_000_000 + Int64((seconds * 1_000_000).rounded()))
        guard isRepresentable else { return nil }
    }
}

/// Writes instants in UTC: RFC 3339 with `Z`, and the short form that starts a key.
public struct UTCWriter {
    private var lastDay = Int64.min
    /// The last text; usually only the time of day changes for the next record.
    private var long = Array("0000-00-00T00:00:00Z".utf8)
    private var short = Array("00000000T000000Z".utf8)

    public init() {}

    /// Appends an instant such as `2026-02-10T05:31:00Z`, with the fraction of a second if there is one.
    mutating func append(_ time: ExportTime, to output: inout [UInt8]) {
        guard time.microseconds > 0 else { return append(time.seconds, to: &output) }
        output += Timestamp(microseconds: time.seconds * 1_000_000 + time.microseconds).text.utf8
    }

    mutating func text(_ time: ExportTime) -> String {
        var output: [UInt8] = []
        append(time, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Appends an instant such as `2026-02-10T05:31:00Z`.
    public mutating func append(_ seconds: Int64, to output: inout [UInt8]) {
        let rest = prepare(seconds)
        Self.put(rest / 3_600, 2, at: 11, of: &long)
        Self.put(rest / 60 % 60, 2, at: 14, of: &long)
        Self.put(rest % 60, 2, at: 17, of: &long)
        output.append(bytes: long)
    }

    /// Appends an instant such as `20260210T053100Z`.
    public mutating func appendShort(_ seconds: Int64, to output: inout [UInt8]) {
        let rest = prepare(seconds)
        Self.put(rest / 3_600, 2, at: 9, of: &short)
        Self.put(rest / 60 % 60, 2, at: 11, of: &short)
        Self.put(rest % 60, 2, at: 13, of: &short)
        output.append(bytes: short)
    }

    public mutating func text(_ seconds: Int64) -> String {
        var output: [UInt8] = []
        append(seconds, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Rewrites the date if it has changed.
    ///
    /// - Returns: the seconds since midnight.
    private mutating func prepare(_ seconds: Int64) -> Int {
        let day = seconds.flooredDivision(by: 86_400)
        if day != lastDay {
            let date = LocalDate(daysSinceEpoch: Int(day))
            for (value, count, place) in [(date.year, 4, 0), (date.month, 2, 5), (date.day, 2, 8)] {
                Self.put(value, count, at: place, of: &long)
            }
            for (value, count, place) in [(date.year, 4, 0), (date.month, 2, 4), (date.day, 2, 6)] {
                Self.put(value, count, at: place, of: &short)
            }
            lastDay = day
        }
        return Int(seconds - day * 86_400)
    }

    @inline(__always)
    private static func put(_ value: Int, _ count: Int, at start: Int, of text: inout [UInt8]) {
        var rest = value
        for place in (start..<start + count).reversed() {
            text[place] = UInt8(truncatingIfNeeded: 0x30 + rest % 10)
            rest /= 10
        }
    }
}
