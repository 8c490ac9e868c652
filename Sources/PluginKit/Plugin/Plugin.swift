import ArgumentParser
import HubSettings
public import HubWire

/// A program that connects the hub to a device or a service.
///
/// ```swift
/// @main struct KitchenScale: SourcePlugin {
///     static let manifest = Manifest(
///         name: "kitchen-scale", summary: "Weights of a kitchen scale on the network.", version: "1.0",
///         writes: ["weight"],
///         settings: [.init("address", .string(), help: "Host and port of the scale.", required: true)])
///
///     func run(_ hub: PluginContext) async throws {
///         for try await reading in try Scale(hub.settings.text("address")).readings {
///             try await hub.give([sample(of: reading, from: hub)])  // On the disk when it returns.
///         }
///     }
/// }
/// ```
///
/// `main()` is provided: the verbs `--describe`, `--check-settings`, `--check`, `--once` and `--run`, the dialogue with the hub, and the spool.
public protocol Plugin: Sendable {
    /// What it is; `--describe` prints it, the hub checks `hub.conf` against it.
    static var manifest: Manifest { get }

    /// What it can be asked to do, beside the handlers; `--describe` adds them to the manifest.
    static var commands: [Command<Self>] { get }

    /// Cheap and silent: settings and the hub come later.
    init()

    /// Reads the settings as ``run(_:)`` will, and throws what is wrong with them: `hub check` and `hub apply` ask before anything is started.
    ///
    /// Opens no device and no connection, and changes nothing. The default finds nothing wrong.
    /// - Throws: ``PluginFailure`` with ``PluginExit/settings``, best with all that is wrong (``PluginSettings/all(_:)``); a reason that
    ///   begins with `setting NAME: ` is shown at that setting.
    func judge(_ settings: PluginSettings) throws
    /// Says of which types an instance with these settings makes day values, and whose day values it waits for.
    ///
    /// `hub check` warns if an instance waits for day values that no other makes. It is asked after ``judge(_:)``, as often.
    /// - Parameter settings: those of ``judge(_:)``, which found nothing wrong.
    /// - Returns: `nil` for a plugin that has nothing to do with day values.
    func dayUse(_ settings: PluginSettings) throws -> DayUse?

    /// Logs in to the device or the service for real, writes nothing, and says in a sentence what it found.
    ///
    /// The default says that there is nothing to log in to.
    /// - Throws: what is wrong and what to do; ``PluginFailure`` with ``PluginExit/unavailable`` or
    ///   ``PluginExit/settings`` where that fits.
    func check(_ hub: CheckContext) async throws -> String

    /// Does the plugin's work until there is nothing left to do or its task is cancelled.
    ///
    /// To stop, the task is cancelled and ``PluginContext/isStopping`` becomes true: finish what has been begun with the
    /// device, give it (``PluginContext/give(_:saving:)-([Sample],_)`` still works), and return within seconds.
    /// Called once, when the settings are known; the hub may be away then and at any time later.
    func run(_ hub: PluginContext) async throws

    /// Does one pass and returns, for `--once`.
    ///
    /// The default runs ``run(_:)`` until nothing was given for ten seconds. A plugin that polls should do one poll here.
    func once(_ hub: PluginContext) async throws
}

/// A plugin that gives records.
public protocol SourcePlugin: Plugin {}

extension Plugin {
    /// None.
    public static var commands: [Command<Self>] { [] }

    /// Neither makes nor reads day values.
    public func dayUse(_ settings: PluginSettings) throws -> DayUse? { nil }

    /// Finds nothing wrong.
    public func judge(_ settings: PluginSettings) throws {}

    /// Says that there is nothing to log in to.
    public func check(_ hub: CheckContext) async throws -> String {
        "The settings are complete; there is nothing to log in to."
    }

    /// Runs ``run(_:)`` until nothing was given for ten seconds.
    public func once(_ hub: PluginContext) async throws {
        try await hub.untilIdle(for: .seconds(10)) { try await run(hub) }
    }

    /// Runs the program: reads the arguments, does what they say, and ends the process with a ``PluginExit``.
    public static func main() async {
        await PluginCommand<Self>.main()
    }
}
