import CSodium

/// SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104), as bytes: what log-ins, record keys and proofs of a token are made of.
///
/// By libsodium, which every program that has libzmq has too.
public enum Digests {
    /// The 32 bytes of the digest.
    public static func sha256(_ message: some Sequence<UInt8>) -> [UInt8] {
        let message = Array(message)
        var digest = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256(&digest, message, UInt64(message.count))
        return digest
    }

    /// The 32 bytes that only those who have the key can make.
    public static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var (state, code) = (crypto_auth_hmacsha256_state(), [UInt8](repeating: 0, count: 32))
        // Not in one call: that one takes keys of 32 bytes alone.
        crypto_auth_hmacsha256_init(&state, key, key.count)
        crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        crypto_auth_hmacsha256_final(&state, &code)
        return code
    }
}
