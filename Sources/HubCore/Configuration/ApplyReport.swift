public import HubSettings

/// What `hub apply` did, or would do: the result of the hub's command `apply`.
public struct ApplyReport: Codable, Hashable, Sendable {
    /// What happens to one instance.
    public struct Step: Codable, Hashable, Sendable {
        public var instance: String
        public var action: ConfigurationPlan.Action
        /// In words; absent where nothing happens.
        public var why: String?
    }

    /// The file that was read.
    public var file: String
    /// Whether the hub follows the file now, or would.
    public var applied: Bool
    public var dryRun: Bool
    /// Everything that is wrong with the file.
    public var problems: [SettingsProblem]
    /// By instance: why its program cannot be asked.
    public var faults: [String: String]
    /// Keys of `[hub]` that changed and hold only when the hub is started again.
    public var needsRestart: [String]
    /// Persons that are new, gone or described differently.
    public var persons: [String]
    /// What retention rules that are new or other than before would do at once; the hub does it within the hour.
    public var retention: [RetentionReport]
    /// Whether sources count in another order from now on; absent where they do not.
    public var priorities: Bool?
    /// By name.
    public var instances: [Step]

    /// How many instances have this fate.
    public func count(_ action: ConfigurationPlan.Action) -> Int { instances.count { $0.action == action } }

    /// The plan in a line: `restart 1, start 1, leave 4`.
    public var summary: String {
        let parts = [ConfigurationPlan.Action.restart, .greet, .start, .stop, .leave].compactMap { action in
            count(action) > 0 ? "\(action.rawValue) \(count(action))" : nil
        }
        return parts.isEmpty ? "no plugins" : parts.joined(separator: ", ")
    }
}
