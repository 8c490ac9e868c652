import CSodium

extension Digests {
    /// BLAKE2b without a key (RFC 7693), with a digest of `length` bytes.
    ///
    /// - Parameter length: 16 to 64.
    public static func blake2b(_ message: [UInt8], length: Int) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: length)
        crypto_generichash_blake2b(&digest, length, message, UInt64(message.count), nil, 0)
        return digest
    }

    /// Derives bytes from a password, deliberately slowly (scrypt, RFC 7914).
    ///
    /// - Parameters:
    ///   - salt: 32 bytes.
    ///   - operations: the amount of work, as libsodium counts it.
    ///   - memory: the number of bytes needed during the calculation.
    /// - Returns: `nil` if the memory is not available.
    public static func scrypt(
        _ password: [UInt8], salt: [UInt8], operations: UInt64, memory: Int, length: Int
    ) -> [UInt8]? {
        precondition(salt.count == 32, "a salt has 32 bytes")
        var key = [UInt8](repeating: 0, count: length)
        let code = crypto_pwhash_scryptsalsa208sha256(
            &key, UInt64(length), password.map { CChar(bitPattern: $0) }, UInt64(password.count), salt, operations,
            memory)
        return code == 0 ? key : nil
    }
}

/// Ed25519 signatures (RFC 8032): 64 bytes made with the secret key and verified with the public key.
public enum Ed25519 {
    /// Creates a key pair from 32 unpredictable bytes: the public key has 32 bytes, the secret key 64.
    public static func pair(seed: [UInt8]) -> (publicKey: [UInt8], secretKey: [UInt8]) {
        precondition(seed.count == 32, "a seed has 32 bytes")
        var (publicKey, secretKey) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 64))
        crypto_sign_ed25519_seed_keypair(&publicKey, &secretKey, seed)
        return (publicKey, secretKey)
    }

    /// - Parameter secretKey: 64 bytes.
    public static func sign(_ message: [UInt8], with secretKey: [UInt8]) -> [UInt8] {
        precondition(secretKey.count == 64, "a secret key has 64 bytes")
        var signature = [UInt8](repeating: 0, count: 64)
        crypto_sign_ed25519_detached(&signature, nil, message, UInt64(message.count), secretKey)
        return signature
    }

    /// Whether the owner of the key signed this message; false if the key or the signature has the wrong length.
    public static func proves(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
        signature.count == 64 && publicKey.count == 32
            && crypto_sign_ed25519_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
    }
}
