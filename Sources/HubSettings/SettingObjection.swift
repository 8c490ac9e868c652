/// What a plugin's own program has to say of a setting that obeys its declaration.
public struct SettingObjection: Sendable, Hashable {
    /// Whether the plugin cannot start with it.
    public var severity: SettingsProblem.Severity
    /// Which setting is meant; nil: none alone.
    public var setting: String?
    /// What is wrong and what is allowed, without secrets.
    public var reason: String

    public init(_ severity: SettingsProblem.Severity = .error, setting: String? = nil, reason: String) {
        (self.severity, self.setting, self.reason) = (severity, setting, reason)
    }
}
