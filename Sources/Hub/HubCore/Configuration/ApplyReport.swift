public import HubSettings
public import HubWire

/// The effect of `hub apply`, or the effect that it would have: the result of the hub's command `apply`.
public struct ApplyReport: Codable, Hashable, Sendable {
    /// The change of one instance.
    public struct Step: Codable, Hashable, Sendable {
        public var instance: String
        public var action: ConfigurationPlan.Action
        /// The reason in words; absent if nothing happens.
        public var why: String?
    }

    /// The file that was read.
    public var file: String
    /// Whether the hub has applied the file, or would.
    public var applied: Bool
    public var dryRun: Bool
    /// All problems of the file.
    public var problems: [SettingsProblem]
    /// Why an instance's program cannot be asked, by instance.
    public var faults: [String: String]
    /// Changed keys of `[hub]` that take effect only when the hub is restarted.
    public var needsRestart: [String]
    /// Persons that were added, removed or changed.
    public var persons: [String]
    /// The immediate effect of new or changed retention rules; the hub carries it out within the hour.
    public var retention: [RetentionReport]
    /// Whether the priorities of sources change; absent if they do not.
    public var priorities: Bool?
    /// Sorted by name.
    public var instances: [Step]

    /// The number of instances with this action.
    public func count(_ action: ConfigurationPlan.Action) -> Int { instances.count { $0.action == action } }

    /// The plan in a line: `restart 1, start 1, leave 4`.
    public var summary: String {
        let parts = [ConfigurationPlan.Action.restart, .greet, .start, .stop, .leave].compactMap { action in
            count(action) > 0 ? "\(action.rawValue) \(count(action))" : nil
        }
        return parts.isEmpty ? "no plugins" : parts.joined(separator: ", ")
    }
}
