import Foundation
import PluginKit

/// One value at one time of the device that is posted to; identifies a posted message however it was sent.
struct PostedValue: Hashable, Sendable, Codable {
    /// In milliseconds since 1970.
    let time: Int64
    let field: String
    let value: Double

    /// Whether both are the same value; services were seen to store values as 32-bit floats.
    func isSame(as other: PostedValue) -> Bool {
        time == other.time && field == other.field
            && abs(value - other.value) <= max(abs(value), abs(other.value)) * 1e-6
    }
}

/// Values that were sent and not answered, saved to disk before they are sent so that a crash does not lose them.
///
/// SAMI has no idempotency key (`cid` only ties an answer to its frame). The plugin therefore looks for an unanswered value at the
/// service. It sends the value again only if the service still does not show it after ``showing``.
struct UnconfirmedPosts: Sendable {
    /// A message was seen to appear after a few seconds (reference §3.2); in milliseconds.
    static let showing: Int64 = 60_000

    private struct Entry: Codable {
        var fact: PostedValue
        /// When it was last sent, by the hub's clock, in milliseconds since 1970.
        var sent: Int64
        /// Set when the service has taken it; kept until the service shows it, because the hub may redeliver before it has the answer.
        var isTaken: Bool?
    }

    private let hub: PluginContext
    private let key: String
    private var entries: [Entry]

    /// Reads the values that an earlier delivery or process left.
    init(_ hub: PluginContext, _ post: Post) async throws {
        (self.hub, key) = (hub, "sent/\(post.name)")
        entries =
            try await hub.state.bytes(key).map { (try? JSONDecoder().decode([Entry].self, from: Data($0))) ?? [] } ?? []
        let now = hub.clock.now() / 1_000
        // A clock that was set back does not keep entries longer.
        entries.removeAll { !(0..<Self.showing).contains(now - $0.sent) }
    }

    /// Milliseconds to wait before a value that the service does not show may be sent again; nil if it may be sent now.
    func wait(_ fact: PostedValue) -> Int64? {
        let now = hub.clock.now() / 1_000
        guard let entry = entries.first(where: { $0.fact == fact }) else { return nil }
        let left = entry.sent + Self.showing - now
        return left > 0 ? left : nil
    }

    /// Whether the service has confirmed this value, even if it does not show it yet.
    func isTaken(_ fact: PostedValue) -> Bool { entries.contains { $0.fact == fact && $0.isTaken == true } }

    /// Saves values before they are sent; returns when they are on disk.
    mutating func add(_ facts: [PostedValue]) async throws {
        let (now, new) = (hub.clock.now() / 1_000, Set(facts))
        entries.removeAll { new.contains($0.fact) }
        entries += facts.map { Entry(fact: $0, sent: now) }
        try await keep()
    }

    /// Saves the outcome of a send; forgets values that the service refused or never received.
    mutating func note(taken: Set<PostedValue>, unanswered: Set<PostedValue>, of sent: [PostedValue]) async throws {
        let (now, all) = (hub.clock.now() / 1_000, Set(sent))
        entries.removeAll { all.contains($0.fact) }
        entries += sent.filter { taken.contains($0) || unanswered.contains($0) }.map {
            Entry(fact: $0, sent: now, isTaken: taken.contains($0) ? true : nil)
        }
        try await keep()
    }

    /// Forgets values whose outcome is known.
    mutating func remove(_ facts: some Sequence<PostedValue>) async throws {
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
