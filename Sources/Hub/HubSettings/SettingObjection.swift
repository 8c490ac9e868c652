public import HubWire

/// An objection of a plugin's own program to a setting that obeys its declaration.
public struct SettingObjection: Sendable, Hashable {
    /// An error if the plugin cannot start with it, else a warning.
    public var severity: SettingsProblem.Severity
    /// The setting that it is about; nil: no single one.
    public var setting: String?
    /// The problem and the allowed values, without secrets.
    public var reason: String

    public init(_ severity: SettingsProblem.Severity = .error, setting: String? = nil, reason: String) {
        (self.severity, self.setting, self.reason) = (severity, setting, reason)
    }
}
