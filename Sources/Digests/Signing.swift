import CSodium

extension Digests {
    /// BLAKE2b without a key (RFC 7693), of so many bytes.
    ///
    /// - Parameter length: 16 to 64.
    public static func blake2b(_ message: [UInt8], length: Int) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: length)
        crypto_generichash_blake2b(&digest, length, message, UInt64(message.count), nil, 0)
        return digest
    }

    /// Bytes that only those who know the password can make again, slowly (scrypt, RFC 7914).
    ///
    /// - Parameters:
    ///   - salt: 32 bytes.
    ///   - operations: how much work it is, as libsodium counts it.
    ///   - memory: how many bytes it takes meanwhile.
    /// - Returns: `nil` where the machine does not give that memory.
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

/// Signatures by Ed25519 (RFC 8032): 64 bytes that only the secret key makes and the public one proves.
public enum Ed25519 {
    /// A new pair, made of 32 bytes that cannot be guessed: the public key has 32 bytes, the secret one 64.
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

    /// Whether the owner of the key has signed this; false also where a key or a signature has not its length.
    public static func proves(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
        signature.count == 64 && publicKey.count == 32
            && crypto_sign_ed25519_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
    }
}
