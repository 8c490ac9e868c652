/// The reliability of a plugin; each tier includes the rules of the lower ones.
package enum Tier: Int, CaseIterable, Comparable, Sendable {
    case bronze, silver, gold, platinum

    /// A description of a plugin of this tier.
    package var text: String {
        switch self {
        case .bronze: "it describes itself, connects when it is started and ends when it is asked to"
        case .silver: "it loses no record and duplicates none, whatever fails meanwhile"
        case .gold: "it copes with faults of hubs, networks and people, and keeps private data private"
        case .platinum: "it can be left alone for years: it uses little memory and time, and explains its settings"
        }
    }

    package var name: String { "\(self)" }

    package static func < (left: Tier, right: Tier) -> Bool { left.rawValue < right.rawValue }
}

/// A requirement for plugins, and the check for it.
package struct Rule: Sendable {
    /// The kind of plugin that it applies to.
    package enum Concern: Sendable {
        case all
        /// Plugins that write.
        case sources
        case sinks
        /// Plugins that have commands.
        case commands
        /// Plugins that check their settings themselves.
        case judges
    }

    /// Lowercase letters and hyphens; never changes.
    package let name: String
    package let tier: Tier
    package let concern: Concern
    /// The requirement, a sentence.
    package let text: String
    /// The author's repair if the plugin breaks the rule.
    package let repair: String
    /// Checks a plugin and returns the violations, a sentence each; empty if all is well.
    let look: @Sendable (ConformanceTest) async throws -> [String]

    init(
        _ name: String, _ tier: Tier, of concern: Concern = .all, _ text: String, repair: String,
        look: @escaping @Sendable (ConformanceTest) async throws -> [String]
    ) {
        (self.name, self.tier, self.concern, self.text, self.repair) = (name, tier, concern, text, repair)
        self.look = look
    }

    /// All rules, in the order of examination.
    package static let all: [Rule] =
        describing + living + sessions + records + deliveries + logIns + homes + commands + privacy + costs
}
