extension OwnCommands {
    /// `configure`: writes settings of an instance, a person or `[hub]`, and whether an instance is enabled, into `hub.conf`, and applies the file.
    package struct Configure: OwnCommand {
        package typealias Result = ConfigureReport

        package static let declaration = CommandDeclaration(
            "configure", help: "Writes settings of an instance, a person or [hub] into hub.conf, and applies it.",
            arguments: [
                SettingDeclaration("instance", .string(), help: "Its name in hub.conf; or:"),
                SettingDeclaration(
                    "person", .string(), help: "Name of a person, added if hub.conf has no such section; or:"),
                SettingDeclaration("hub", .boolean, help: "Whether [hub] is meant."),
                SettingDeclaration("enabled", .boolean, help: "Whether it is to run."),
                SettingDeclaration(
                    "set", .list(of: .string()),
                    help:
                        "Settings that its manifest declares, or those of persons and [hub] that can be set, each NAME=VALUE, VALUE in JSON."
                ),
                SettingDeclaration("unset", .list(of: .string()), help: "Settings to reset to their defaults."),
                SettingDeclaration(
                    "revision", .string(),
                    help: "The revision of an earlier answer: nothing is written if hub.conf has changed since."),
            ], canDryRun: true)

        package var instance, person: String?
        package var hub, enabled: Bool?
        package var set, unset: [String]?
        package var revision: String?

        /// - Parameters:
        ///   - instance: the section; or a person, or whether it is `[hub]`.
        package init(
            instance: String? = nil, person: String? = nil, hub: Bool? = nil, enabled: Bool? = nil, set: [String],
            unset: [String]
        ) {
            (self.instance, self.person, self.hub, self.enabled) = (instance, person, hub, enabled)
            (self.set, self.unset) = (set, unset)
        }
    }
}

/// The effect of the hub's command `configure`, or the effect that it would have.
public struct ConfigureReport: Codable, Hashable, Sendable {
    /// One setting, with its former and its new value.
    public struct Change: Codable, Hashable, Sendable {
        /// `enabled`, or a setting of the plugin.
        public var name: String
        /// The former value, for reverting the change; for `enabled` the value in effect, even if the file did not have it.
        ///
        /// Absent if the file did not have the setting, or if the value cannot be given (a secret, a table).
        public var before: SettingValue?
        /// The new value; absent if the setting was removed, and for a secret.
        public var after: SettingValue?
        /// Whether the setting is a secret, whose values are not given; absent if it is not.
        public var secret: Bool?
        /// Whether a secret was set before; absent for other settings.
        public var wasSet: Bool?

        package init(_ name: String, from before: SettingValue?, to after: SettingValue?) {
            (self.name, self.before, self.after) = (name, before, after)
        }

        package init(secret name: String, wasSet: Bool) { (self.name, secret, self.wasSet) = (name, true, wasSet) }
    }

    /// The section: exactly one of `instance`, `person` and `hub` is set.
    public var instance, person: String?
    public var hub: Bool?
    /// Whether the section was added; absent if it was there before.
    ///
    /// This command never removes a section.
    public var added: Bool?
    public var dryRun: Bool
    /// Whether the change was written and applied, or would be; if not, `plan.problems` has the reasons, and nothing was changed.
    public var applied: Bool
    /// Empty if the file already had these values, unless a section was `added`.
    public var changes: [Change]
    /// The revision of `hub.conf` after this change; valid until the hub ends.
    public var revision: String
    /// The report of `apply` on the changed file.
    public var plan: ApplyReport
    /// For a person and `[hub]`: the values in `hub.conf` after this change, of the settings that this command can write.
    public var settings: [String: SettingValue]?

    package init(instance: String?, dryRun: Bool, changes: [Change], revision: String, plan: ApplyReport) {
        (self.instance, self.dryRun, self.changes, self.revision) = (instance, dryRun, changes, revision)
        (self.plan, applied) = (plan, plan.applied)
    }
}

extension ConfigureReport: CommandResult {}
