import Foundation
import PluginKit

/// One value at one time of the device that is posted to: what is there once, and known again however it was sent.
struct PostFact: Hashable, Sendable, Codable {
    /// Milliseconds since 1970.
    let time: Int64
    let field: String
    let value: Double

    /// A field of a message that is there; services were seen to keep values as 32-bit floats.
    func isSame(as other: PostFact) -> Bool {
        time == other.time && field == other.field
            && abs(value - other.value) <= max(abs(value), abs(other.value)) * 1e-6
    }
}

/// What was sent and not answered: kept on the disk before it is sent, so that no end of the process hides it.
///
/// SAMI has no key by which it would know a message again (`cid` only ties an answer to its frame). So whatever is not certain is
/// looked for at the service, and is sent again only when it is not there after as long as the service was seen to take to show a message.
struct Uncertain: Sendable {
    /// A few seconds were seen (reference §3.2).
    static let showing: Int64 = 60_000

    private struct Entry: Codable {
        var fact: PostFact
        /// When it was last sent, by the hub's clock, in milliseconds since 1970.
        var sent: Int64
        /// The service has taken it; kept until it shows it, as the hub may deliver it again before it has heard of that.
        var isTaken: Bool?
    }

    private let hub: PluginContext
    private let key: String
    private var entries: [Entry]

    /// What an earlier delivery, or an earlier life, has left.
    init(_ hub: PluginContext, _ post: Post) async throws {
        (self.hub, key) = (hub, "sent/\(post.name)")
        entries =
            try await hub.state.bytes(key).map { (try? JSONDecoder().decode([Entry].self, from: Data($0))) ?? [] } ?? []
        let now = hub.clock.now() / 1_000
        // A clock that was set back keeps nothing for longer.
        entries.removeAll { !(0..<Self.showing).contains(now - $0.sent) }
    }

    /// How many milliseconds it is too early to send a fact that the service does not show.
    func wait(_ fact: PostFact) -> Int64? {
        let now = hub.clock.now() / 1_000
        guard let entry = entries.first(where: { $0.fact == fact }) else { return nil }
        let left = entry.sent + Self.showing - now
        return left > 0 ? left : nil
    }

    /// Whether the service has said that it has this fact, which it may not show yet.
    func isTaken(_ fact: PostFact) -> Bool { entries.contains { $0.fact == fact && $0.isTaken == true } }

    /// Before these are sent; returns when it is on the disk.
    mutating func add(_ facts: [PostFact]) async throws {
        let (now, new) = (hub.clock.now() / 1_000, Set(facts))
        entries.removeAll { new.contains($0.fact) }
        entries += facts.map { Entry(fact: $0, sent: now) }
        try await keep()
    }

    /// What became of what was sent; nothing is kept of what the service has refused or never got.
    mutating func note(taken: Set<PostFact>, unanswered: Set<PostFact>, of sent: [PostFact]) async throws {
        let (now, all) = (hub.clock.now() / 1_000, Set(sent))
        entries.removeAll { all.contains($0.fact) }
        entries += sent.filter { taken.contains($0) || unanswered.contains($0) }.map {
            Entry(fact: $0, sent: now, isTaken: taken.contains($0) ? true : nil)
        }
        try await keep()
    }

    /// What became of these is known.
    mutating func remove(_ facts: some Sequence<PostFact>) async throws {
        let known = Set(facts)
        guard entries.contains(where: { known.contains($0.fact) }) else { return }
        entries.removeAll { known.contains($0.fact) }
        try await keep()
    }

    private func keep() async throws {
        let bytes = entries.isEmpty ? nil : try Array(JSONEncoder().encode(entries))
        try await hub.state.set(key, to: bytes.map { .bytes($0) })
    }
}
