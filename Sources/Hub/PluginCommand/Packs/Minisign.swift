import Foundation
import Platform

/// Keys and signatures in the format of minisign, compatible with its program: Ed25519 over the BLAKE2b-512 digest of a file.
package enum Minisign {
    /// The suffix of a signature's file name; the signature lies beside the signed file.
    package static let ending = "minisig"

    static let plain = Array("Ed".utf8)
    /// Signs a file's digest: the current form.
    static let hashed = Array("ED".utf8)

    /// The number of a key as minisign shows it: eight bytes in reverse order.
    static func number(_ bytes: [UInt8]) -> String { bytes.reversed().hexadecimal.uppercased() }

    /// The lines of a minisign file, without carriage returns that editors add.
    static func lines(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.hasSuffix("\r") ? $0.dropLast() : $0 }
            .map(String.init)
    }

    static func bytes(_ text: String) -> [UInt8]? {
        Data(base64Encoded: text.trimmingCharacters(in: .whitespaces)).map(Array.init)
    }

    static let comment = "untrusted comment: "
    static let trustedComment = "trusted comment: "
}

extension Minisign {
    /// A key whose signatures are trusted.
    package struct PublicKey: Hashable, Sendable {
        package let number: String
        let key: [UInt8]

        /// - Parameter text: the content of its file, or the one line that has the key.
        package init(_ text: String) throws(PluginError) {
            let lines = Minisign.lines(text).filter { !$0.isEmpty && !$0.hasPrefix("untrusted comment:") }
            guard let line = lines.first, let bytes = Minisign.bytes(line), bytes.count == 42,
                Array(bytes[..<2]) == Minisign.plain
            else {
                throw PluginError(
                    "it is not a public key of minisign: give the file of two lines, or its line that begins with RW")
            }
            (number, key) = (Minisign.number(Array(bytes[2..<10])), Array(bytes[10...]))
        }
    }

    /// A signature and its comment: only the owner of the key can have made both.
    package struct Signature: Hashable, Sendable {
        /// The number of the key that claims to have made it.
        package let number: String
        package let comment: String
        private let signature, whole: [UInt8]
        private let isHashed: Bool

        package init(_ text: String) throws(PluginError) {
            let lines = Minisign.lines(text)
            guard lines.count >= 4, text.utf8.count <= 16_384, lines[0].hasPrefix("untrusted comment:"),
                let bytes = Minisign.bytes(lines[1]), bytes.count == 74, lines[2].hasPrefix(Minisign.trustedComment),
                let whole = Minisign.bytes(lines[3]), whole.count == 64
            else { throw PluginError("it is not a signature of minisign, which has four lines") }
            let form = Array(bytes[..<2])
            guard form == Minisign.plain || form == Minisign.hashed else {
                throw PluginError("it is a signature of a form that is not known here")
            }
            (isHashed, self.whole) = (form == Minisign.hashed, whole)
            (number, signature) = (Minisign.number(Array(bytes[2..<10])), Array(bytes[10...]))
            comment = String(lines[2].dropFirst(Minisign.trustedComment.count))
        }

        /// Whether the owner of the key has signed these bytes and the comment.
        package func isRight(_ bytes: [UInt8], by key: PublicKey) -> Bool {
            let message = isHashed ? Digests.blake2b(bytes, length: 64) : bytes
            return key.number == number && Ed25519.proves(signature, of: message, by: key.key)
                && Ed25519.proves(whole, of: signature + Array(comment.utf8), by: key.key)
        }
    }

    /// A key that makes signatures.
    package struct SecretKey: Sendable {
        package let number: String
        private let numberBytes, key: [UInt8]

        /// Whether reading the key needs a password.
        package static func isEncrypted(_ text: String) -> Bool {
            bytes(ofFile: text).map { Array($0[2..<4]) == Array("Sc".utf8) } ?? false
        }

        private static func bytes(ofFile text: String) -> [UInt8]? {
            let lines = Minisign.lines(text)
            guard lines.count >= 2, let bytes = Minisign.bytes(lines[1]), bytes.count == 158 else { return nil }
            return bytes
        }

        /// - Parameter password: nil if the key has none.
        package init(_ text: String, password: String?) throws(PluginError) {
            guard let bytes = Self.bytes(ofFile: text), Array(bytes[..<2]) == Minisign.plain,
                Array(bytes[4..<6]) == Array("B2".utf8)
            else { throw PluginError("it is not a secret key of minisign: minisign -G makes one") }
            var secret = Array(bytes[54...])
            switch Array(bytes[2..<4]) {
            case Array("Sc".utf8):
                guard let password else { throw PluginError("it needs its password") }
                let (operations, memory) = (Self.integer(bytes[38..<46]), Self.integer(bytes[46..<54]))
                // Minisign uses 1 GiB. A key that asks for more than 4 GiB is hostile.
                guard memory <= 4 << 30, operations <= 1 << 32,
                    let mask = Digests.scrypt(
                        Array(password.utf8), salt: Array(bytes[6..<38]), operations: operations, memory: Int(memory),
                        length: secret.count)
                else {
                    throw PluginError(
                        "to open it takes \(memory >> 20) MiB of memory, which this machine does not give")
                }
                secret = zip(secret, mask).map { $0 ^ $1 }
            case [0, 0]: guard password == nil else { throw PluginError("it has no password") }
            default: throw PluginError("it is encrypted in a way that is not known here")
            }
            let (number, key, sum) = (Array(secret[..<8]), Array(secret[8..<72]), Array(secret[72...]))
            // Without a password minisign leaves the checksum empty, but the key contains its public half.
            let isRight =
                password == nil
                ? Ed25519.pair(seed: Array(key[..<32])).publicKey == Array(key[32...])
                : Digests.blake2b(Array(bytes[..<2]) + number + key, length: 32) == sum
            guard isRight else {
                throw PluginError(password == nil ? "it is damaged" : "the password is not that of this key")
            }
            (numberBytes, self.key, self.number) = (number, key, Minisign.number(number))
        }

        private static func integer(_ bytes: ArraySlice<UInt8>) -> UInt64 {
            bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }

        /// Makes the text of the signature file for these bytes.
        ///
        /// - Parameter comment: one line, which is signed too.
        package func sign(_ bytes: [UInt8], comment: String) -> String {
            let signature = Ed25519.sign(Digests.blake2b(bytes, length: 64), with: key)
            let whole = Ed25519.sign(signature + Array(comment.utf8), with: key)
            return """
                \(Minisign.comment)signature of a plugin of a health hub
                \(Data(Minisign.hashed + numberBytes + signature).base64EncodedString())
                \(Minisign.trustedComment)\(comment)
                \(Data(whole).base64EncodedString())

                """
        }
    }
}

/// The known origin of a pack.
package enum PackOrigin: Hashable, Sendable {
    /// Signed with a key that is trusted here; the comment is signed too.
    case signed(key: String, comment: String)
    /// Signed with a key that is not trusted here: worth no more than no signature.
    case unknown(key: String)
    case unsigned

    /// - Parameters:
    ///   - signature: the content of the signature file beside it.
    ///   - keys: the trusted keys.
    /// - Throws: a refusal if a signature is wrong, because the pack or the signature was changed.
    package init(_ pack: [UInt8], signature text: String?, keys: [Minisign.PublicKey]) throws(PluginError) {
        guard let text else {
            self = .unsigned
            return
        }
        let signature = try Minisign.Signature(text)
        guard let key = keys.first(where: { $0.number == signature.number }) else {
            self = .unknown(key: signature.number)
            return
        }
        guard signature.isRight(pack, by: key) else {
            throw PluginError(
                "its signature is not of this pack: one of the two was changed or exchanged; get both again from their maker"
            )
        }
        self = .signed(key: key.number, comment: signature.comment)
    }

    package var signer: String? { if case .signed(let key, _) = self { key } else { nil } }
}
