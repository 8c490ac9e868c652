import FoundationEssentials
import HubWire
import Synchronization

/// The secrets that an instance's log and messages must not contain (R11.3).
///
/// They are the secrets of its settings, its launch token, and the tokens that went through the door since its process began.
final class InstanceSecrets: Sendable {
    /// Maximum number of token texts that are hidden, the latest ones; eight accounts have two each.
    private static let most = 256
    /// Minimum length of the texts of a token's other members that are hidden; shorter ones are words such as `Bearer`.
    private static let leastLength = 16

    private let fixed: [String]
    private let state: Mutex<(learned: [String], mask: SecretMask)>

    init(_ fixed: [String]) {
        self.fixed = fixed
        state = Mutex(([], SecretMask(fixed)))
    }

    var mask: SecretMask { state.withLock(\.mask) }

    /// Hides the texts of a token, given as JSON, from now on.
    func learn(_ token: [UInt8]) {
        guard let value = try? JSONDecoder().decode(Value.self, from: Data(token)) else { return }
        let texts = value.secrets(named: "")
        state.withLock { state in
            let new = texts.filter { !state.learned.contains($0) }
            guard !new.isEmpty else { return }
            state.learned = (state.learned + new).suffix(Self.most)
            state.mask = SecretMask(fixed + state.learned)
        }
    }

    private enum Value: Decodable {
        case text(String)
        case object([String: Value])
        case list([Value])
        case other

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let text = try? value.decode(String.self) {
                self = .text(text)
            } else if let members = try? value.decode([String: Value].self) {
                self = .object(members)
            } else if let elements = try? value.decode([Value].self) {
                self = .list(elements)
            } else {
                self = .other
            }
        }

        func secrets(named name: String) -> [String] {
            switch self {
            case .text(let text):
                // A user's name at a service grants no access, and is in every record of the service as its account.
                let isPublic = TokenPut.openMembers.contains(name)
                let isSecret = name.hasSuffix("token") || name.hasSuffix("secret")
                return !isPublic && (isSecret || text.utf8.count >= InstanceSecrets.leastLength) ? [text] : []
            case .object(let members): return members.flatMap { $0.value.secrets(named: $0.key) }
            case .list(let elements): return elements.flatMap { $0.secrets(named: name) }
            case .other: return []
            }
        }
    }
}
