import ArgumentParser
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
/// `main()` is provided. It implements the verbs `--describe`, `--check-settings`, `--check`, `--once` and `--run`, the dialogue with the hub, and
/// the spool.
public protocol Plugin: Sendable {
    /// Describes the plugin; `--describe` prints the manifest, and the hub checks `hub.conf` against it.
    static var manifest: Manifest { get }

    /// The commands that the plugin offers, with their handlers; `--describe` adds them to the manifest.
    static var commands: [Command<Self>] { get }

    /// Creates the plugin; keep it cheap and free of side effects, because settings and the hub come later.
    init()

    /// Reads the settings like ``run(_:)`` and throws their faults; `hub check` and `hub apply` call it before they start anything.
    ///
    /// It must not open a device or a connection, or change anything. The default finds no faults.
    /// - Throws: ``PluginFailure`` with ``PluginExit/settings``, ideally with all faults (``PluginSettings/all(_:)``). A reason that begins with
    ///   `setting NAME: ` is shown at that setting.
    func judge(_ settings: PluginSettings) throws
    /// Returns the types for which an instance with these settings makes day values, and the instances whose day values it waits for.
    ///
    /// `hub check` warns if an instance waits for day values that no other instance makes. It calls this after each call of ``judge(_:)``.
    /// - Parameter settings: the settings that passed ``judge(_:)``.
    /// - Returns: `nil` for a plugin that neither makes nor reads day values.
    func dayUse(_ settings: PluginSettings) throws -> DayUse?

    /// Logs in to the real device or service, writes nothing, and returns one sentence about the result.
    ///
    /// The default returns that there is nothing to log in to.
    /// - Throws: an error with the fault and its remedy. Use ``PluginFailure`` with ``PluginExit/unavailable`` or ``PluginExit/settings`` if one of
    ///   them fits.
    func check(_ hub: CheckContext) async throws -> String

    /// Does the plugin's work until none is left or its task is cancelled.
    ///
    /// To stop the plugin, the library cancels the task and ``PluginContext/isStopping`` becomes true. Finish the exchange with the device, give its
    /// records (``PluginContext/give(_:saving:)-([Sample],_)`` still works), and return within seconds.
    /// The library calls it once, when the settings are known. The hub may be unreachable at that time and at any later time.
    func run(_ hub: PluginContext) async throws

    /// Does one pass for `--once` and returns.
    ///
    /// The default runs ``run(_:)`` until nothing has been given for ten seconds. A plugin that polls should poll once here.
    func once(_ hub: PluginContext) async throws
}

/// A plugin that gives records.
public protocol SourcePlugin: Plugin {}

extension Plugin {
    /// No commands.
    public static var commands: [Command<Self>] { [] }

    /// Returns `nil`: the plugin neither makes nor reads day values.
    public func dayUse(_ settings: PluginSettings) throws -> DayUse? { nil }

    /// Finds no faults.
    public func judge(_ settings: PluginSettings) throws {}

    /// Returns that there is nothing to log in to.
    public func check(_ hub: CheckContext) async throws -> String {
        "The settings are complete; there is nothing to log in to."
    }

    /// Runs ``run(_:)`` until nothing has been given for ten seconds.
    public func once(_ hub: PluginContext) async throws {
        try await hub.untilIdle(for: .seconds(10)) { try await run(hub) }
    }

    /// Runs the program: parses the arguments, executes the verb, and ends the process with a ``PluginExit``.
    public static func main() async { await runProgram() }

    /// Runs the program of a plugin that declares its own `main`, because the program has a second use.
    package static func runProgram() async { await PluginCommandLine<Self>.main() }
}
