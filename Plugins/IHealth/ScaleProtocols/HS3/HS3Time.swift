/// The interpretation of the hour of a packed time (`21`, `28`).
///
/// The bits are `YYYYYY MMMM DDDDD P HHHH mmmmmm ssssss`. Captures have morning values, on which both interpretations agree, and two afternoon
/// values that cannot prove either.
public enum HS3HourMode: String, Sendable, Hashable, CaseIterable {
    /// `P` means afternoon and `HHHH` is a 12-hour number, 12 meaning 0, as in the vendor's software.
    case sdk12
    /// `P HHHH` is one 24-hour number.
    case raw24
    /// The mode that the batch proves: an `HHHH` of 13–15 without `P` is raw24; `P` with an `HHHH` above 7 is sdk12.
    ///
    /// Without proof, sdk12.
    case auto

    /// The mode that `times` prove; `nil` if they prove neither, or contradict each other.
    public static func proven(by times: some Sequence<UInt32>) -> HS3HourMode? {
        var (raw, sdk) = (false, false)
        for time in times {
            let (afternoon, hour) = (time >> 16 & 1 == 1, time >> 12 & 0xF)
            if !afternoon, hour > 12 { raw = true }
            if afternoon, hour > 7 { sdk = true }
        }
        return raw == sdk ? nil : raw ? .raw24 : .sdk12
    }
}

/// The interpretation of the hour of the scale's clock (`33`).
///
/// Only morning values were captured.
public enum HS3ClockMode: String, Sendable, Hashable, CaseIterable {
    /// The interpretation closest to the host's clock.
    case nearest
    /// 24-hour BCD.
    case bcd24
    /// 12-hour BCD with bit 5 for the afternoon.
    case bcd12
}

extension WallTime {
    /// Reads a packed time; `nil` if the bits are not a date and time of day, as for date 00-00.
    ///
    /// `auto` reads as sdk12, because only a batch can prove a mode.
    public init?(hs3Packed bits: UInt32, mode: HS3HourMode) {
        let afternoon = Int(bits >> 16 & 1)
        let digits = Int(bits >> 12 & 0xF)
        let hour: Int
        switch mode {
        case .raw24: hour = afternoon * 16 + digits
        case .sdk12, .auto:
            guard digits <= 12 else { return nil }
            hour = digits % 12 + 12 * afternoon
        }
        self.init(
            2000 + Int(bits >> 26), Int(bits >> 22 & 0xF), Int(bits >> 17 & 0x1F), hour, Int(bits >> 6 & 0x3F),
            Int(bits & 0x3F))
    }

    /// The packed form; `nil` outside the years 2000–2063, the range of six bits.
    ///
    /// `auto` writes as sdk12.
    public func hs3Packed(mode: HS3HourMode) -> UInt32? {
        guard (2000...2063).contains(year) else { return nil }
        let twelve = hour % 12 == 0 ? 12 : hour % 12
        let hourBits = mode == .raw24 ? hour : (hour / 12) << 4 | twelve
        let date = UInt32(year - 2000) << 26 | UInt32(month) << 22 | UInt32(day) << 17
        return date | UInt32(hourBits) << 12 | UInt32(minute) << 6 | UInt32(second)
    }

    /// Reads the binary form of `20` and `25`: year − 2000, month, day, 12-hour value with 0x20 for the afternoon,
    /// minute, second.
    ///
    /// Twelve and zero both mean the first hour of a half day; `nil` if the bytes are not a time.
    public init?(hs3Binary bytes: [UInt8]) {
        guard bytes.count == 6, bytes[3] & ~0x20 <= 12 else { return nil }
        let hour = Int(bytes[3] & ~0x20) % 12 + (bytes[3] & 0x20 == 0 ? 0 : 12)
        self.init(2000 + Int(bytes[0]), Int(bytes[1]), Int(bytes[2]), hour, Int(bytes[4]), Int(bytes[5]))
    }

    /// The binary form; nil outside the years 2000–2255.
    ///
    /// The vendor's software sends the first hour of a half day as 0 in `20` and as 12 in `25`, and so does this.
    public func hs3Binary(for command: HS3Command) -> [UInt8]? {
        guard (2000...2255).contains(year) else { return nil }
        let twelve = hour % 12 == 0 && command == .lastKnown ? 12 : hour % 12
        return [
            UInt8(year - 2000), UInt8(month), UInt8(day), UInt8(twelve + (hour >= 12 ? 0x20 : 0)), UInt8(minute),
            UInt8(second),
        ]
    }

    /// Reads the six BCD bytes of `33`; `nil` if no interpretation of them is a time.
    ///
    /// `host` is the time on the host's clock.
    public init?(hs3BCD bytes: [UInt8], mode: HS3ClockMode, host: WallTime) {
        guard bytes.count == 6, let year = bcd(bytes[0]), let month = bcd(bytes[1]), let day = bcd(bytes[2]),
            let minute = bcd(bytes[4]), let second = bcd(bytes[5])
        else { return nil }
        var hours: [Int] = []
        if mode != .bcd12, let hour = bcd(bytes[3]) { hours.append(hour) }
        if mode != .bcd24, let hour = bcd(bytes[3] & ~0x20), hour <= 12 {
            hours.append(hour % 12 + (bytes[3] & 0x20 == 0 ? 0 : 12))
        }
        let readings = hours.compactMap { WallTime(2000 + year, month, day, $0, minute, second) }
        let closest = readings.min { left, right in
            abs(left.secondsSince2000 - host.secondsSince2000) < abs(right.secondsSince2000 - host.secondsSince2000)
        }
        guard let closest else { return nil }
        self = closest
    }

    /// The BCD form, in which the scale reports its time; `nil` outside the years 2000–2099.
    ///
    /// `nearest` writes as bcd24.
    public func hs3BCD(mode: HS3ClockMode) -> [UInt8]? {
        guard (2000...2099).contains(year) else { return nil }
        let twelve = hour % 12 == 0 ? 12 : hour % 12
        let hourByte = mode == .bcd12 ? toBCD(twelve) | (hour >= 12 ? 0x20 : 0) : toBCD(hour)
        return [toBCD(year - 2000), toBCD(month), toBCD(day), hourByte, toBCD(minute), toBCD(second)]
    }
}

/// The number in two decimal digits; `nil` if a nibble is above 9.
func bcd(_ byte: UInt8) -> Int? {
    byte >> 4 <= 9 && byte & 0xF <= 9 ? Int(byte >> 4) * 10 + Int(byte & 0xF) : nil
}

/// Two decimal digits for a number of 0–99.
func toBCD(_ number: Int) -> UInt8 { UInt8(truncatingIfNeeded: (number / 10) * 16 + number % 10) }
