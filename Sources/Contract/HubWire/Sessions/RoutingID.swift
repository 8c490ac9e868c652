/// The ROUTER's name for a peer.
///
/// The names that libzmq makes have five bytes. Up to seven bytes fit into one word, because every message is looked up by its sender.
public struct RoutingID: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// The bytes, then their number; `beyond` for a longer name.
    private let word: UInt64
    private let long: [UInt8]?

    private static let beyond = UInt64.max
    private static let longestWord = 7

    /// The name that these bytes spell.
    public init(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= Self.longestWord else {
            (word, long) = (Self.beyond, Array(bytes))
            return
        }
        word = bytes.reduce(0) { $0 << 8 | UInt64($1) } << 8 | UInt64(bytes.count)
        long = nil
    }

    public init(arrayLiteral bytes: UInt8...) { self = bytes.withUnsafeBytes { RoutingID($0) } }

    /// Lends the bytes for the length of `body`.
    public func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        if let long { return long.withUnsafeBytes(body) }
        let count = Int(word & 0xFF)
        return Swift.withUnsafeBytes(of: word.bigEndian) { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[(Self.longestWord - count)..<Self.longestWord]))
        }
    }

    public static func == (left: RoutingID, right: RoutingID) -> Bool {
        left.word == right.word && (left.word != beyond || left.long == right.long)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(word)
        if let long { hasher.combine(long) }
    }
}
