/// How a plugin's process ends.
///
/// | status | meaning |
/// |---|---|
/// | 0 | done, or stopped as asked; `--check`: all is well |
/// | 1 | the plugin failed; its reason is the last line on stderr |
/// | 64 | wrong arguments, or none |
/// | 69 | the hub, or what `--check` logs in to, cannot be reached |
/// | 70 | the plugin's own manifest is wrong |
/// | 73 | the state directory cannot be used |
/// | 75 | ended before all was done: records wait in the spool, or it did not stop in time |
/// | 77 | the hub does not want this plugin: log-in, instance or version |
/// | 78 | the settings are wrong |
///
/// The numbers are those of `sysexits.h`.
public enum PluginExit: Int32, Sendable {
    /// Done, or stopped as asked; of `--check`: all is well.
    case done = 0
    /// The plugin failed; its reason is the last line on stderr.
    case failed = 1
    /// Wrong arguments, or none.
    case usage = 64
    /// The hub, or what `--check` logs in to, cannot be reached.
    case unavailable = 69
    /// The plugin's own manifest is wrong.
    case manifest = 70
    /// The state directory cannot be used.
    case state = 73
    /// Ended before all was done: records wait in the spool, or it did not stop in time.
    case unfinished = 75
    /// The hub does not want this plugin: log-in, instance or version.
    case refused = 77
    /// The settings are wrong; the hub does not start it again until they are others.
    case settings = 78

    static let help = """
        Exit status: 0 done, 1 the plugin failed, 64 wrong arguments, 69 the hub or the service cannot be reached, 73 \
        the state directory cannot be used, 75 ended with records still in the spool, 77 refused by the hub, 78 wrong \
        settings.
        """
}

/// A failure that ends a plugin with a status of its own.
///
/// `check`, `run` and `once` may throw it; any other error ends the plugin with ``PluginExit/failed``.
public struct PluginFailure: Error, Sendable, CustomStringConvertible {
    /// The status that the process ends with.
    public let exit: PluginExit
    /// One or two sentences for a person: what failed, and what to do.
    ///
    /// No health value, no secret.
    public let message: String
    /// The same, each thing that is wrong for itself.
    public let reasons: [String]

    /// The message.
    public var description: String { message }

    /// A failure with one reason.
    ///
    /// A message about one setting begins with `setting NAME: `, by which `hub check` shows it there.
    public init(_ exit: PluginExit, _ message: String) {
        (self.exit, self.message, reasons) = (exit, message, [message])
    }

    /// Several things are wrong with the settings, each as a message of its own.
    public init(settings reasons: [String]) {
        (exit, message, self.reasons) = (.settings, reasons.joined(separator: "; "), reasons)
    }
}
