import Crypto

/// SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104), as bytes: what log-ins, record keys and proofs of a token are made of.
public enum Digests {
    /// The 32 bytes of the digest.
    public static func sha256(_ message: some Sequence<UInt8>) -> [UInt8] {
        Array(SHA256.hash(data: Array(message)))
    }

    /// The 32 bytes that only those who have the key can make.
    public static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)))
    }
}
