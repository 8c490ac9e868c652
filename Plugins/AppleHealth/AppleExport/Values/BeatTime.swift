/// A heartbeat at a wall-clock time in the phone's format: `07:00:01,20`, `6:14:48.94 PM`.
enum BeatTime {
    /// The instant, which lies within a few minutes of the record's start.
    ///
    /// It needs no zone: clocks differ from UTC by whole quarters of an hour, so the minutes within the quarter determine the instant in any hour.
    static func instant(_ text: String, near start: Int64) -> (seconds: Int64, fraction: String)? {
        let clock = text.prefix { $0.isASCII && ($0.isNumber || ":.,".contains($0)) }
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let minute = Int64(parts[1]), (0..<60).contains(minute) else { return nil }
        let rest = parts[2].split(whereSeparator: { $0 == "." || $0 == "," })
        guard (1...2).contains(rest.count), let second = Int64(rest[0]), (0..<60).contains(second) else { return nil }
        let fraction = rest.count == 2 ? String(rest[1]) : ""
        guard fraction.utf8.count <= 6, fraction.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let ofQuarter = (minute * 60 + second) % 900
        var difference = (ofQuarter - start.remainder(of: 900)) % 900
        if difference < 0 { difference += 900 }
        // A beat may be written slightly before the record begins.
        if difference > 890 { difference -= 900 }
        guard difference <= 600 else { return nil }
        return (start + difference, fraction)
    }
}

extension Int64 {
    fileprivate func remainder(of divisor: Int64) -> Int64 {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
