/// The JSON object that a plugin prints for `--check-settings`, after it has read the settings of one instance as JSON from stdin.
///
/// The settings are those of WELCOME, already checked against the manifest. The program opens no device and no connection for the check, and
/// changes nothing. If it prints no objection, it can start with them.
public struct SettingsVerdict: Hashable, Sendable, Codable {
    public struct Objection: Hashable, Sendable, Codable {
        /// The setting that it is about; absent: no single one.
        public var setting: String?
        /// A sentence for a person with the problem and the allowed values, without secrets.
        public var reason: String

        public init(setting: String? = nil, reason: String) { (self.setting, self.reason) = (setting, reason) }
    }

    public var objections: [Objection]
    /// Absent if it neither makes nor reads day values.
    public var days: DayUse?

    public init(_ objections: [Objection] = [], days: DayUse? = nil) {
        (self.objections, self.days) = (objections, days)
    }
}

/// The day values that an instance makes with its settings, and those that it needs: by type, in HealthKit's names.
public struct DayUse: Hashable, Sendable, Codable {
    /// Absent if it makes none.
    public var makes: [String]?
    /// Absent if it reads none.
    public var reads: [String]?

    public init(makes: [String]? = nil, reads: [String]? = nil) { (self.makes, self.reads) = (makes, reads) }
}
