extension OwnCommands {
    /// `apply`: the hub reads `hub.conf` again and applies it.
    package struct Apply: OwnCommand {
        package typealias Result = ApplyReport

        package static let declaration = CommandDeclaration(
            "apply", help: "Reads hub.conf again and applies it; a file with errors changes nothing.", canDryRun: true)

        package init() {}
    }
}

/// The effect of `hub apply`, or the effect that it would have.
public struct ApplyReport: Codable, Hashable, Sendable {
    /// The change of one instance.
    public struct Step: Codable, Hashable, Sendable {
        public enum Action: String, Sendable, Hashable, Codable, CaseIterable {
            case start, stop, restart, leave
            /// Its process goes on; its session begins again with other grants.
            case greet
        }

        public var instance: String
        public var action: Action
        /// The reason in words; absent if nothing happens.
        public var why: String?

        public init(instance: String, action: Action, why: String? = nil) {
            (self.instance, self.action, self.why) = (instance, action, why)
        }
    }

    /// The file that was read.
    public var file: String
    /// Whether the hub has applied the file, or would.
    public var applied = false
    public var dryRun: Bool
    /// All problems of the file.
    public var problems: [SettingsProblem]
    /// Why an instance's program cannot be asked, by instance.
    public var faults: [String: String]
    /// Changed keys of `[hub]` that take effect only when the hub is restarted.
    public var needsRestart: [String] = []
    /// Persons that were added, removed or changed.
    public var persons: [String] = []
    /// The immediate effect of new or changed retention rules; the hub carries it out within the hour.
    public var retention: [RetentionReport] = []
    /// Whether the priorities of sources change; absent if they do not.
    public var priorities: Bool?
    /// Sorted by name.
    public var instances: [Step] = []

    /// A report on a file that is not applied so far.
    public init(file: String, dryRun: Bool, problems: [SettingsProblem], faults: [String: String]) {
        (self.file, self.dryRun, self.problems, self.faults) = (file, dryRun, problems, faults)
    }

    /// The number of instances with this action.
    public func count(_ action: Step.Action) -> Int { instances.count { $0.action == action } }

    /// The plan in a line: `restart 1, start 1, leave 4`.
    public var summary: String {
        let parts = [Step.Action.restart, .greet, .start, .stop, .leave].compactMap { action in
            count(action) > 0 ? "\(action.rawValue) \(count(action))" : nil
        }
        return parts.isEmpty ? "no plugins" : parts.joined(separator: ", ")
    }
}

extension ApplyReport: CommandResult {}
