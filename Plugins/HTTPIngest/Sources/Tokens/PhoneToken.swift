import Foundation
import JSON
import Platform
import PluginKit

/// The access token of one phone of one person; only the SHA-256 of its secret is stored.
struct PhoneToken: Hashable, Sendable {
    /// The name that people give the phone, also used as the device of its records.
    var name: String
    /// The part before the dot: 8 hexadecimal digits.
    var id: String
    /// SHA-256 of the part after the dot.
    var hash: [UInt8]
    var person: String?
    /// Words of the addresses that it may use, such as `hae`; empty for all.
    var formats: Set<String> = []
    /// Time of creation, in seconds since 1970.
    var made: Int64 = 0

    init(name: String, id: String, hash: [UInt8], person: String?, formats: Set<String> = [], made: Int64) {
        (self.name, self.id, self.hash, self.person, self.formats, self.made) = (name, id, hash, person, formats, made)
    }

    /// Creates a token, and the text that the phone gets.
    static func make(
        name: String, person: String?, formats: Set<String>, at time: Int64
    ) -> (token: PhoneToken, text: String) {
        var generator = SystemRandomNumberGenerator()
        let id = (0..<4).map { _ in UInt8.random(in: 0...255, using: &generator) }.hexadecimal
        let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let secret = Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        let token = PhoneToken(
            name: name, id: id, hash: Digests.sha256(secret.utf8), person: person, formats: formats, made: time)
        return (token, "\(id).\(secret)")
    }

    /// Whether a name has 1 to 64 letters, digits, `.`, `_` and `-`; it appears in records, logs and commands.
    static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2E, 0x5F, 0x2D: true
                default: false
                }
            }
    }

    /// Compares a secret with the hash in constant time.
    func isProved(by secret: String) -> Bool {
        zip(Digests.sha256(secret.utf8), hash).reduce(UInt8(hash.count == 32 ? 0 : 1)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    // MARK: - Text

    /// Parses an entry of the setting `tokens`.
    init(setting: String) throws {
        let parts = setting.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard (3...4).contains(parts.count), Self.isName(parts[0]), parts[1].utf8.count == 8,
            let hash = [UInt8](hexadecimal: parts[2]), hash.count == 32
        else {
            throw PluginFailure(
                .settings,
                "setting tokens: expected NAME:ID:SHA256, with 8 hexadecimal digits as id and 64 as SHA-256 of the secret"
            )
        }
        self.init(name: parts[0], id: parts[1], hash: hash, person: parts.count > 3 ? parts[3] : nil, made: 0)
    }

    /// Parses a token of the plugin's state.
    init?(kept text: String) {
        guard let tree = JSONTree(Array(text.utf8)), let name = tree["name"]?.text, let id = tree["id"]?.text,
            let hash = tree["hash"]?.text.flatMap({ [UInt8](hexadecimal: $0) })
        else { return nil }
        self.init(
            name: name, id: id, hash: hash, person: tree["person"]?.text,
            formats: Set((tree["formats"]?.list ?? []).compactMap(\.text)), made: tree["made"]?.lenientInteger ?? 0)
    }

    var kept: String {
        JSONTree.members([
            "name": .text(name), "id": .text(id), "hash": .text(hash.hexadecimal), "person": person.map(JSONTree.text),
            "formats": .list(formats.sorted().map(JSONTree.text)), "made": .whole(made),
        ]).json
    }
}
