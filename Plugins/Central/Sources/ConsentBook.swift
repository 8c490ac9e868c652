import Foundation
import PluginKit

/// The consents and withdrawals of this hub, saved to disk before they take effect.
actor ConsentBook {
    private let state: PluginState
    private var consents: [Consent] = []
    private var isRead = false

    init(_ state: PluginState) { self.state = state }

    private static let prefix = "consent/"
    private static func key(_ study: String, _ person: String) -> String { "\(prefix)\(study)/\(person)" }

    /// All consents by study and person, the latest of each pair.
    func all() async throws -> [Consent] {
        if isRead { return consents }
        let texts = try await state.transaction { transaction in
            try transaction.keys(prefix: ConsentBook.prefix).compactMap { try transaction.text($0) }
        }
        consents = try texts.map { try JSONDecoder().decode(Consent.self, from: Data($0.utf8)) }
        isRead = true
        return consents
    }

    func active() async throws -> [Consent] { try await all().filter(\.isActive) }

    /// The consent of a subscription, unless it was withdrawn.
    func active(want: String) async throws -> Consent? { try await active().first { $0.want == want } }

    func find(_ study: String, _ person: String) async throws -> Consent? {
        try await all().first { $0.study == study && $0.person == person }
    }

    /// Replaces the earlier consent of the same study and person.
    func put(_ consent: Consent) async throws {
        _ = try await all()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(consent), as: UTF8.self)
        try await state.set(Self.key(consent.study, consent.person), to: .text(text))
        consents.removeAll { $0.study == consent.study && $0.person == consent.person }
        consents.append(consent)
        consents.sort { ($0.study, $0.person) < ($1.study, $1.person) }
    }

    /// Changes the state of a consent, unless another consent has replaced it meanwhile.
    func update(_ consent: Consent, _ change: (inout Consent) -> Void) async throws {
        guard var now = try await find(consent.study, consent.person), now.ordinal == consent.ordinal,
            now.withdrawn == consent.withdrawn
        else { return }
        change(&now)
        try await put(now)
    }
}
