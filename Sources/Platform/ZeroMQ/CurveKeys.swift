import CZeroMQ
import Glibc

/// A CURVE public key: 32 bytes, written for people as 40 characters of Z85 (ZeroMQ RFC 32).
public struct CurveKey: Hashable, Sendable, CustomStringConvertible {
    static let size = 32
    /// The 32 bytes.
    public let bytes: [UInt8]

    /// A key from its 32 bytes; `nil` for any other number.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
    }

    /// A key from its 40 Z85 characters; `nil` for any other text.
    public init?(z85: String) {
        guard let bytes = Z85.decode(z85) else { return nil }
        self.init(bytes: bytes)
    }

    /// The 40 Z85 characters.
    public var z85: String { Z85.encode(bytes) }

    public var description: String { z85 }
}

/// A CURVE secret key.
///
/// Prints as `<secret>`; ``z85`` is for the file it is kept in.
public struct CurveSecretKey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    let bytes: [UInt8]

    /// A key from its 32 bytes; `nil` for any other number.
    public init?(bytes: [UInt8]) {
        guard bytes.count == CurveKey.size else { return nil }
        self.bytes = bytes
    }

    /// A key from its 40 Z85 characters; `nil` for any other text.
    public init?(z85: String) {
        guard let bytes = Z85.decode(z85) else { return nil }
        self.init(bytes: bytes)
    }

    /// The 40 Z85 characters.
    ///
    /// A secret: only for a file of mode 0600.
    public var z85: String { Z85.encode(bytes) }

    /// The public key that belongs to this one.
    /// - Throws: ``ZeroMQError/Code/notSupported`` if this libzmq was built without CURVE.
    public func publicKey() throws(ZeroMQError) -> CurveKey {
        var text = [CChar](repeating: 0, count: Z85.keyTextSize)
        try call("zmq_curve_public") { zmq_curve_public(&text, z85) }
        return try CurveKeyPair.key("zmq_curve_public", text) { CurveKey(z85: $0) }
    }

    public var description: String { "<secret>" }
    public var debugDescription: String { "<secret>" }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// A CURVE identity: the public key may be shared, the secret key must not.
public struct CurveKeyPair: Hashable, Sendable {
    public let publicKey: CurveKey
    public let secretKey: CurveSecretKey

    /// Creates a pair without checking whether the keys belong together.
    public init(publicKey: CurveKey, secretKey: CurveSecretKey) {
        (self.publicKey, self.secretKey) = (publicKey, secretKey)
    }

    /// Generates a random pair.
    /// - Throws: ``ZeroMQError/Code/notSupported`` if this libzmq was built without CURVE.
    public static func generate() throws(ZeroMQError) -> CurveKeyPair {
        var publicText = [CChar](repeating: 0, count: Z85.keyTextSize)
        var secretText = publicText
        try call("zmq_curve_keypair") { zmq_curve_keypair(&publicText, &secretText) }
        return CurveKeyPair(
            publicKey: try key("zmq_curve_keypair", publicText) { CurveKey(z85: $0) },
            secretKey: try key("zmq_curve_keypair", secretText) { CurveSecretKey(z85: $0) })
    }

    static func key<Key>(_ operation: String, _ text: [CChar], _ make: (String) -> Key?) throws(ZeroMQError) -> Key {
        let characters = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        guard let key = make(String(decoding: characters, as: UTF8.self)) else {
            throw .invalid(operation, "key", "libzmq wrote something else than 40 Z85 characters")
        }
        return key
    }
}

/// Keys as printable text (ZeroMQ RFC 32).
enum Z85 {
    /// libzmq writes 40 characters *and a final NUL*.
    static let keyTextSize = 41

    static func encode(_ key: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: keyTextSize)
        zmq_z85_encode(&text, key, key.count)
        return String(decoding: text.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The text is checked first, because libzmq decodes all characters, even beyond the end of the destination.
    static func decode(_ text: String) -> [UInt8]? {
        guard text.utf8.count == keyTextSize - 1, text.utf8.allSatisfy({ (0x21...0x7D).contains($0) }) else {
            return nil
        }
        var key = [UInt8](repeating: 0, count: CurveKey.size)
        return zmq_z85_decode(&key, text) == nil ? nil : key
    }
}
