extension OwnCommands {
    /// `retention`: applies the retention rules of `hub.conf` at once, or reports their expected effect (R8.44).
    package struct Retention: OwnCommand {
        package static let declaration = CommandDeclaration(
            "retention", help: "Thins and removes records by the retention rules of hub.conf.",
            arguments: [
                SettingDeclaration(
                    "rule", .string(), help: "Only this rule, [retention.NAME] of hub.conf; all if not set."),
                SettingDeclaration(
                    "trust", .boolean,
                    help: "The hub's clock is right, although it is far ahead of when it was last trusted.",
                    default: .boolean(false)),
            ], canDryRun: true)

        package var rule: String?
        package var trust: Bool

        package init(rule: String?, trust: Bool) { (self.rule, self.trust) = (rule, trust) }

        package struct Result: CommandResult, Codable {
            package var dryRun: Bool
            package var rules: [RetentionReport]

            package init(dryRun: Bool, rules: [RetentionReport]) { (self.dryRun, self.rules) = (dryRun, rules) }
        }
    }
}

/// The effect of a rule, or the effect that it would have.
public struct RetentionReport: Codable, Hashable, Sendable {
    public var rule: String
    /// Samples thinned to one value a day; records removed completely.
    public var thinned, removed: Int64
    /// Samples that could not be thinned, with the reason.
    public var left: Int64
    public var reason: String?
    /// Records that stay until the sinks in `waitingFor` have them.
    public var waiting: Int64
    public var waitingFor: [String]

    package init(
        rule: String, thinned: Int64, removed: Int64, left: Int64, reason: String?, waiting: Int64, waitingFor: [String]
    ) {
        (self.rule, self.thinned, self.removed, self.left) = (rule, thinned, removed, left)
        (self.reason, self.waiting, self.waitingFor) = (reason, waiting, waitingFor)
    }
}
