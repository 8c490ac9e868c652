import JSON
import Platform

/// The identities of records: equal in each export of the same sample, whatever the phone's language, units and time zone.
///
/// `20260210T053100Z 4f0d0a8f53f6d2a1`: the start, and the first 16 hexadecimal digits of the SHA-256 of the identifying parts,
/// joined by U+001F ([AppleHealth.md]).
struct ExportKeys {
    private var message: [UInt8] = []
    private var utc = UTCWriter()

    mutating func begin(_ form: StaticString, type: String) {
        message.removeAll(keepingCapacity: true)
        message.append(literal: form)
        add(type)
    }

    mutating func add(_ text: String) {
        message.append(0x1F)
        message.append(contentsOf: text.utf8)
    }

    mutating func add(_ bytes: [UInt8]) {
        message.append(0x1F)
        message.append(bytes: bytes)
    }

    mutating func add(_ number: Int64) {
        message.append(0x1F)
        NumberWriter.append(number, to: &message)
    }

    /// Adds the whole seconds, and the fraction if there is one.
    mutating func add(_ time: ExportTime) {
        add(time.seconds)
        guard time.microseconds > 0 else { return }
        message.append(0x2E)
        NumberWriter.append(time.microseconds, to: &message)
    }

    mutating func addFourDigits(_ value: Double) {
        message.append(0x1F)
        DecimalText.appendFourDigits(value, to: &message)
    }

    /// Appends the key.
    ///
    /// - Parameter start: `nil` for a record that keeps its identity if its time changes.
    /// - Returns: a hash that represents the key in memory.
    mutating func end(at start: Int64?, to output: inout [UInt8]) -> UInt64 {
        let digest = Digests.sha256(message)
        if let start {
            utc.appendShort(start, to: &output)
        } else {
            output.append(literal: "sync")
        }
        output.append(0x20)
        var mark: UInt64 = 0
        for place in 0..<8 {
            let byte = digest[place]
            mark = mark << 8 | UInt64(byte)
            output.append(Self.digit(byte >> 4))
            output.append(Self.digit(byte & 15))
        }
        return mark &+ UInt64(bitPattern: start ?? 0)
    }

    @inline(__always)
    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
}
