/// What a plugin prints with `--check-settings`, after it has read the settings of one instance from stdin: one JSON object each.
///
/// The settings are those of WELCOME, judged against the manifest already. The program opens no device and no connection for it, and changes
/// nothing. Without an objection it can start with them.
public struct SettingsVerdict: Hashable, Sendable, Codable {
    public struct Objection: Hashable, Sendable, Codable {
        /// Which setting is meant; absent: none alone.
        public var setting: String?
        /// A sentence for a person: what is wrong, and what is allowed; no secret.
        public var reason: String

        public init(setting: String? = nil, reason: String) { (self.setting, self.reason) = (setting, reason) }
    }

    public var objections: [Objection]
    /// Absent: it neither makes nor reads day values.
    public var days: DayUse?

    public init(_ objections: [Objection] = [], days: DayUse? = nil) {
        (self.objections, self.days) = (objections, days)
    }
}

/// The day values that an instance makes with its settings, and those that it waits for: by type, as HealthKit names them.
public struct DayUse: Hashable, Sendable, Codable {
    /// Absent: it makes none.
    public var makes: [String]?
    /// Absent: it reads none.
    public var reads: [String]?

    public init(makes: [String]? = nil, reads: [String]? = nil) { (self.makes, self.reads) = (makes, reads) }
}
