import Samples

/// The stored figures of a day by hour.
///
/// Format, for each hour with data: its number, the number of sources in two bytes, the tally of all sources, then each source's id and tally. A
/// single source whose tally equals that of all is stored as its id alone, with the count 65,535.
struct RolledDay: Sendable {
    /// Keyed by source id, not by rank, because the ranking may change without changing the figures.
    struct Hour: Sendable, Equatable {
        var total = Tally()
        var sources: [Int64: Tally] = [:]
    }

    /// The figures of the whole day in the same form, because they are read most often.
    let total: [UInt8]
    let hours: [UInt8]

    private static let same: UInt16 = .max

    /// - Parameter hours: 24.
    /// - Returns: `nil` if no hour has data.
    init?(_ hours: [Hour]) {
        var (day, bytes) = (Hour(), [UInt8]())
        for (number, hour) in hours.enumerated() where hour != Hour() {
            bytes.append(UInt8(number))
            RolledDay.write(hour, to: &bytes)
            day.total.add(hour.total)
            for (source, tally) in hour.sources { day.sources[source, default: Tally()].add(tally) }
        }
        guard !bytes.isEmpty else { return nil }
        var total: [UInt8] = []
        RolledDay.write(day, to: &total)
        (self.total, self.hours) = (total, bytes)
    }

    /// Whether two encodings have the same figures.
    ///
    /// Their bytes may differ, because an exact sum has several forms.
    static func areSame(_ left: [UInt8]?, _ right: [UInt8]?) -> Bool {
        if left == right { return true }
        guard let left, let right else { return false }
        return (0..<24).allSatisfy { number in
            var (first, second) = (Hour(), Hour())
            let areWhole =
                add(hours: left, number..<(number + 1), to: &first, bySource: true)
                && add(hours: right, number..<(number + 1), to: &second, bySource: true)
            return areWhole && first == second
        }
    }

    private static func write(_ hour: Hour, to bytes: inout [UInt8]) {
        func put<Number: FixedWidthInteger>(_ number: Number) {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        if hour.sources.count == 1, let only = hour.sources.first, only.value == hour.total {
            put(same)
            put(only.key)
            hour.total.write(to: &bytes)
            return
        }
        put(UInt16(hour.sources.count))
        hour.total.write(to: &bytes)
        for (source, tally) in hour.sources.sorted(by: { $0.key < $1.key }) {
            put(source)
            tally.write(to: &bytes)
        }
    }

    /// Adds the stored figures of a range of hours.
    ///
    /// - Parameters:
    ///   - sums: receives the tally of all sources and, if `bySource`, each source's tally under its id.
    /// - Returns: `false` if the bytes are malformed.
    static func add(hours bytes: [UInt8], _ range: Range<Int>, to sums: inout Hour, bySource: Bool) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var place = 0
            while place < bytes.count {
                let number = Int(bytes[place])
                place += 1
                guard number < range.upperBound else { return true }
                guard add(bytes, at: &place, to: &sums, bySource: bySource, isWanted: number >= range.lowerBound) else {
                    return false
                }
            }
            return true
        }
    }

    /// Adds the stored figures of a whole day.
    static func add(total bytes: [UInt8], to sums: inout Hour, bySource: Bool) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var place = 0
            return add(bytes, at: &place, to: &sums, bySource: bySource, isWanted: true)
        }
    }

    private static func add(
        _ bytes: UnsafeRawBufferPointer, at place: inout Int, to sums: inout Hour, bySource: Bool, isWanted: Bool
    ) -> Bool {
        func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
            guard place + MemoryLayout<Number>.size <= bytes.count else { return nil }
            defer { place += MemoryLayout<Number>.size }
            return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: Number.self))
        }
        func tally(_ wanted: Bool, _ sum: inout Tally) -> Bool {
            if wanted { return sum.add(written: bytes, at: &place) }
            guard let length = Tally.length(of: bytes, at: place) else { return false }
            place += length
            return true
        }
        guard let count = number(UInt16.self) else { return false }
        if count == same {
            guard let source = number(Int64.self) else { return false }
            let start = place
            guard tally(isWanted, &sums.total) else { return false }
            guard isWanted, bySource else { return true }
            place = start
            return tally(true, &sums.sources[source, default: Tally()])
        }
        guard tally(isWanted, &sums.total) else { return false }
        for _ in 0..<count {
            guard let source = number(Int64.self) else { return false }
            guard isWanted, bySource else {
                var skipped = Tally()
                guard tally(false, &skipped) else { return false }
                continue
            }
            guard tally(true, &sums.sources[source, default: Tally()]) else { return false }
        }
        return true
    }
}
