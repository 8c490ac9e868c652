import CSodium

/// SHA-256 (FIPS 180-4) of data in pieces, such as a file that is too large for memory.
public struct RunningDigest: Sendable {
    private var state = crypto_hash_sha256_state()

    public init() { crypto_hash_sha256_init(&state) }

    public mutating func add(_ bytes: [UInt8]) { crypto_hash_sha256_update(&state, bytes, UInt64(bytes.count)) }

    /// The 32-byte digest of all added data.
    public func end() -> [UInt8] {
        var (state, digest) = (state, [UInt8](repeating: 0, count: 32))
        crypto_hash_sha256_final(&state, &digest)
        return digest
    }
}
