/// How far a plugin can be relied on; each tier has all that the ones before it have.
package enum Tier: Int, CaseIterable, Comparable, Sendable {
    case bronze, silver, gold, platinum

    /// What a plugin of this tier is.
    package var text: String {
        switch self {
        case .bronze: "it says what it is, comes when it is started and ends when it is asked to"
        case .silver: "it loses nothing and doubles nothing, whatever falls in between"
        case .gold: "it copes with what hubs, networks and people do, and keeps to itself what is private"
        case .platinum: "it can be left alone for years: it costs little, and says what it takes"
        }
    }

    package var name: String { "\(self)" }

    package static func < (left: Tier, right: Tier) -> Bool { left.rawValue < right.rawValue }
}

/// What a plugin must do, and how it is found out whether it does.
package struct Rule: Sendable {
    /// What kind of plugin it is about.
    package enum Concern: Sendable {
        case all
        /// Those that write.
        case sources
        case sinks
        /// Those that can be asked to do something.
        case commands
        /// Those that judge their settings themselves.
        case judges
    }

    /// Small letters and hyphens; stays for good.
    package let name: String
    package let tier: Tier
    package let concern: Concern
    /// What must hold, a sentence.
    package let text: String
    /// What an author does where it does not hold.
    package let repair: String
    /// What was seen instead, a sentence each; none where all is well.
    let look: @Sendable (Examination) async throws -> [String]

    init(
        _ name: String, _ tier: Tier, of concern: Concern = .all, _ text: String, repair: String,
        look: @escaping @Sendable (Examination) async throws -> [String]
    ) {
        (self.name, self.tier, self.concern, self.text, self.repair) = (name, tier, concern, text, repair)
        self.look = look
    }

    /// All, in the order in which they are looked at.
    package static let all: [Rule] =
        describing + living + sessions + records + deliveries + logIns + homes + commands + privacy + costs
}
