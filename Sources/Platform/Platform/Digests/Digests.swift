import CSodium

/// SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104), as bytes, for log-ins, record keys and proofs of a token.
///
/// Uses libsodium, which every program with libzmq has anyway.
public enum Digests {
    /// The 32 bytes of the digest.
    public static func sha256(_ message: some Sequence<UInt8>) -> [UInt8] {
        let message = Array(message)
        var digest = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256(&digest, message, UInt64(message.count))
        return digest
    }

    /// The 32-byte authentication code, which requires the key.
    public static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var (state, code) = (crypto_auth_hmacsha256_state(), [UInt8](repeating: 0, count: 32))
        // The one-call function accepts only keys of 32 bytes.
        crypto_auth_hmacsha256_init(&state, key, key.count)
        crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        crypto_auth_hmacsha256_final(&state, &code)
        return code
    }
}
