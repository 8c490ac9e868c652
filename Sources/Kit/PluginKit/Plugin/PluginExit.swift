/// How a plugin's process ends.
///
/// | status | meaning |
/// |---|---|
/// | 0 | the work is done, or the plugin was asked to stop; `--check`: no problem found |
/// | 1 | the plugin failed; the last line on stderr gives the reason |
/// | 64 | wrong or missing arguments |
/// | 69 | the hub, or the service that `--check` logs in to, cannot be reached |
/// | 70 | the plugin's own manifest is wrong |
/// | 73 | the state directory cannot be used |
/// | 75 | records are still in the spool, or the plugin did not stop in time |
/// | 77 | the hub rejects this plugin: log-in, instance or version |
/// | 78 | the settings are wrong |
///
/// The numbers are those of `sysexits.h`.
public enum PluginExit: Int32, Sendable {
    /// The work is done, or the plugin was asked to stop; `--check` found no problem.
    case done = 0
    /// The plugin failed; the last line on stderr gives the reason.
    case failed = 1
    /// Wrong or missing arguments.
    case usage = 64
    /// The hub, or the service that `--check` logs in to, cannot be reached.
    case unavailable = 69
    /// The plugin's own manifest is wrong.
    case manifest = 70
    /// The state directory cannot be used.
    case state = 73
    /// Records are still in the spool, or the plugin did not stop in time.
    case unfinished = 75
    /// The hub rejects this plugin: log-in, instance or version.
    case refused = 77
    /// The settings are wrong; the hub does not start the plugin again until they change.
    case settings = 78

    static let help = """
        Exit status: 0 done, 1 the plugin failed, 64 wrong arguments, 69 the hub or the service cannot be reached, 73 \
        the state directory cannot be used, 75 ended with records still in the spool, 77 refused by the hub, 78 wrong \
        settings.
        """
}

/// A failure that ends a plugin with the given exit status.
///
/// `check`, `run` and `once` may throw it; any other error ends the plugin with ``PluginExit/failed``.
public struct PluginFailure: Error, Sendable, CustomStringConvertible {
    /// The exit status of the process.
    public let exit: PluginExit
    /// One or two sentences for a person: the failure and its remedy.
    ///
    /// It must not contain a health value or a secret.
    public let message: String
    /// The same message as separate reasons, one for each fault.
    public let reasons: [String]

    /// The message.
    public var description: String { message }

    /// Creates a failure with one reason.
    ///
    /// Begin a message about one setting with `setting NAME: `; `hub check` then shows it at that setting.
    public init(_ exit: PluginExit, _ message: String) {
        (self.exit, self.message, reasons) = (exit, message, [message])
    }

    /// Creates a failure of the settings with one message for each fault.
    public init(settings reasons: [String]) {
        (exit, message, self.reasons) = (.settings, reasons.joined(separator: "; "), reasons)
    }
}
