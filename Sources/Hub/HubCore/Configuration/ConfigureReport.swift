public import HubWire

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

        init(_ name: String, from before: SettingValue?, to after: SettingValue?) {
            (self.name, self.before, self.after) = (name, before, after)
        }

        init(secret name: String, wasSet: Bool) { (self.name, secret, self.wasSet) = (name, true, wasSet) }
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
}
