/// Serialisation of a tally: three bytes that describe the contents, then eight-byte little-endian numbers.
extension Tally {
    private enum Mark {
        static let latest: UInt8 = 1
        static let counted: UInt8 = 2
        static let duration: UInt8 = 4
        static let range: UInt8 = 8
    }

    /// Appends the tally.
    public func write(to bytes: inout [UInt8]) {
        func put(_ number: Int64) {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        func put(_ number: Double) { put(Int64(bitPattern: number.bitPattern)) }
        var marks: UInt8 = 0
        if latest != nil { marks |= Mark.latest }
        if isCounted { marks |= Mark.counted }
        if duration != 0 { marks |= Mark.duration }
        if minimum != nil { marks |= Mark.range }
        bytes.append(contentsOf: [marks, UInt8(sum.parts.count), UInt8(weights.parts.count)])
        put(Int64(count))
        if let latest {
            put(first ?? latest.start)
            for number in [latest.number, latest.start, latest.end] { put(number) }
            put(latest.value)
        }
        if duration != 0 { put(duration) }
        if let minimum, let maximum {
            put(minimum)
            put(maximum)
        }
        for part in sum.parts + weights.parts { put(part) }
    }

    /// The length of a serialised tally in bytes; `nil` if the bytes end too early.
    public static func length(of bytes: UnsafeRawBufferPointer, at place: Int) -> Int? {
        guard place >= 0, place + 3 <= bytes.count else { return nil }
        let marks = bytes[place]
        var numbers = 1 + Int(bytes[place + 1]) + Int(bytes[place + 2])
        if marks & Mark.latest != 0 { numbers += 5 }
        if marks & Mark.duration != 0 { numbers += 1 }
        if marks & Mark.range != 0 { numbers += 2 }
        let length = 3 + 8 * numbers
        return place + length <= bytes.count ? length : nil
    }

    /// Adds a serialised tally and moves `place` behind it.
    ///
    /// - Returns: `false` if the bytes end too early; then nothing is added.
    public mutating func add(written bytes: UnsafeRawBufferPointer, at place: inout Int) -> Bool {
        guard let length = Tally.length(of: bytes, at: place) else { return false }
        let (marks, sums, weighed) = (bytes[place], bytes[place + 1], bytes[place + 2])
        var at = place + 3
        func integer() -> Int64 {
            defer { at += 8 }
            return Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: Int64.self))
        }
        func double() -> Double { Double(bitPattern: UInt64(bitPattern: integer())) }
        count &+= Int(integer())
        if marks & Mark.latest != 0 {
            let start = integer()
            first = min(first ?? start, start)
            note(latest: Reading(number: integer(), start: integer(), end: integer(), value: double()))
        }
        if marks & Mark.counted != 0 { isCounted = true }
        if marks & Mark.duration != 0 { duration &+= integer() }
        if marks & Mark.range != 0 {
            let (least, most) = (double(), double())
            minimum = min(minimum ?? least, least)
            maximum = max(maximum ?? most, most)
        }
        for _ in 0..<sums { sum.add(double()) }
        for _ in 0..<weighed { weights.add(double()) }
        place += length
        return true
    }
}
