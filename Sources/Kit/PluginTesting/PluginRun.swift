import Foundation
public import HubWire
import Logging
public import PluginKit
import Synchronization
public import ZeroMQ

/// A temporary directory, a ZeroMQ context and an endpoint for one test; `deinit` removes the directory.
public final class TestPlace: Sendable {
    public let context: Context
    /// Absolute.
    public let directory: String

    public init() throws {
        context = try Context()
        // Short, because the path of a socket has at most 107 bytes.
        directory = "/tmp/plugin-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// The endpoint for a ``FakeHub``.
    public var door: String { "ipc://\(directory)/door" }
    /// The plugin's state directory.
    public var state: String { "\(directory)/state" }
}

/// A plugin that runs inside the test, against any hub.
public final class PluginRun: Sendable {
    private let requests: AsyncStream<StopRequest>.Continuation
    private let task: Task<PluginExit, Never>

    /// Starts the plugin.
    /// - Parameters:
    ///   - settings: the settings; `nil` uses those of WELCOME.
    ///   - limits: the limits of the plugin's state.
    public init<P: Plugin>(
        _ plugin: P, at place: TestPlace, door: String? = nil, mode: Hello.Mode = .run, instance: String? = nil,
        settings: PluginSettings? = PluginSettings(), limits: PluginState.Limits = .init(),
        stopLimit: Duration = .seconds(60), drainLimit: Duration = .seconds(60)
    ) {
        let (stream, requests) = AsyncStream<StopRequest>.makeStream()
        var logger = Logger(label: P.manifest.name)
        logger.logLevel = .critical
        var runner = PluginRunner(
            plugin, mode: mode, address: HubAddress(door: door ?? place.door), instance: instance ?? P.manifest.name,
            stateDirectory: place.state, settings: settings, logger: logger, context: place.context)
        runner.limits = limits
        runner.stopLimit = stopLimit
        runner.drainLimit = drainLimit
        let configured = runner
        self.requests = requests
        task = Task { await configured.run(requests: stream) }
    }

    /// Asks the plugin to stop, like SIGTERM.
    public func stop() { requests.yield(.asked) }

    /// Reports that the hub is gone, like the end of stdin.
    public func loseHub() { requests.yield(.hubGone) }

    /// Waits for the end of the plugin and returns its status.
    @discardableResult
    public func end() async -> PluginExit { await task.value }
}
