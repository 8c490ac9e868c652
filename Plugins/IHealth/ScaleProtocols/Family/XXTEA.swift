/// The block cipher of the family's log-in: XXTEA (Wheeler and Needham, 1998) on one block of 16 bytes.
///
/// It is old and short: it keeps strangers from a scale and protects nothing more, so no other code uses it.
enum XXTEA {
    private static let delta: UInt32 = 0x9E37_79B9

    /// Four big-endian words under four big-endian key words, 19 rounds.
    ///
    /// - Parameters: both of 16 bytes.
    static func encrypt(_ block: [UInt8], key: [UInt8]) -> [UInt8] {
        var words = words(block)
        let key = self.words(key)
        let last = words.count - 1
        var sum: UInt32 = 0
        for _ in 0..<(6 + 52 / words.count) {
            sum &+= delta
            let shift = Int(sum >> 2 & 3)
            for place in 0...last {
                let (next, previous) = (words[(place + 1) & 3], words[(place + 3) & 3])
                let shifted = (previous >> 5 ^ next << 2) &+ (next >> 3 ^ previous << 4)
                words[place] &+= shifted ^ ((sum ^ next) &+ (key[place & 3 ^ shift] ^ previous))
            }
        }
        return words.flatMap { word in
            stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }

    private static func words(_ bytes: [UInt8]) -> [UInt32] {
        stride(from: 0, to: 16, by: 4).map { start in bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    }
}

/// The key for a kind of scale, which its vendor gives to licensees: a user's setting, never part of this program.
///
/// Its description contains only its length.
public struct ScaleKey: Sendable, Hashable, CustomStringConvertible {
    let bytes: [UInt8]

    /// Returns `nil` if there are not 16 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    public var description: String { "<key of 16 bytes>" }

    /// The answer to a scale's challenge, variant 1 of the family's log-in (BG5S).
    ///
    /// The challenge consists of `e`, `b` and `d`, 16 bytes each; `b` only authenticates the scale.
    ///
    /// - Returns: 16 bytes; `nil` for a challenge shorter than 48 bytes.
    public func answer(to challenge: [UInt8]) -> [UInt8]? {
        guard challenge.count >= 48 else { return nil }
        let seed = XXTEA.encrypt(Self.reversed(Array(challenge[0..<16])), key: bytes)
        return Self.reversed(XXTEA.encrypt(Self.reversed(Array(challenge[32..<48])), key: seed))
    }

    /// Reverses the bytes of each word of four bytes.
    static func reversed(_ block: [UInt8]) -> [UInt8] {
        stride(from: 0, to: block.count, by: 4).flatMap { block[$0..<min($0 + 4, block.count)].reversed() }
    }
}
