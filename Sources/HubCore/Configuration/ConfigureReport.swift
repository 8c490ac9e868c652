public import HubSettings

/// What the hub's command `configure` did, or would do.
public struct ConfigureReport: Codable, Hashable, Sendable {
    /// One setting, as it was written and is now.
    public struct Change: Codable, Hashable, Sendable {
        /// `enabled`, or a setting of the plugin's.
        public var name: String
        /// To be set again for another change back; of `enabled` what held, written or not.
        ///
        /// Absent where it was not written, and where it cannot be given back (a secret, a table).
        public var before: SettingValue?
        /// Absent where it is not written any more, and for a secret.
        public var after: SettingValue?
        /// Whether it is one, whose values are not told; absent: no.
        public var secret: Bool?
        /// Whether something was written before, of a secret; absent for others.
        public var wasSet: Bool?

        init(_ name: String, from before: SettingValue?, to after: SettingValue?) {
            (self.name, self.before, self.after) = (name, before, after)
        }

        init(secret name: String, wasSet: Bool) { (self.name, secret, self.wasSet) = (name, true, wasSet) }
    }

    /// Whose section it is: one of these.
    public var instance, person: String?
    public var hub: Bool?
    /// Whether the section was not there before, and this command takes none out again; absent: it was.
    public var added: Bool?
    public var dryRun: Bool
    /// Whether it is written and followed, or would be; where not, `plan.problems` says why, and nothing was changed.
    public var applied: Bool
    /// Empty where all is so already, but for a section that is `added`.
    public var changes: [Change]
    /// Of `hub.conf` as it is after this answer; as long as this hub runs.
    public var revision: String
    /// What `apply` says of the changed file.
    public var plan: ApplyReport
    /// Of a person and `[hub]`: what then stands in `hub.conf` of what this command writes there.
    public var settings: [String: SettingValue]?
}
