import Foundation
import HubProcess
import HubSettings
import HubWire
import Logging
import Samples
import ServiceLifecycle
import Synchronization
import Testing

@testable import HubCore

/// A temporary folder of a test, with a short path because the length of socket paths is limited.
final class Folder: Sendable {
    let path: String

    init() throws {
        path = "/tmp/hub-\(UInt32.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var run: String { path + "/run" }
    var data: String { path + "/data" }

    /// Writes an executable shell script.
    func script(_ name: String, _ lines: String) throws -> String {
        let file = path + "/" + name
        try Data("#!/bin/sh\n\(lines)\n".utf8).write(to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
        return file
    }
}

/// The configuration of a hub for a test.
struct Setting: Sendable {
    var persons = ["me"]
    var plugins: [PluginInstance] = []
    var manifests: [String: Manifest] = [:]
    var executables: [String: String] = [:]
    var keepRaw = false
    var clock = ClockSetting.system
    var memoryLimit: ByteSize?
    var tcp: TCPEndpoint?
    var isInsecure = false
    /// Allows long silence, because a busy machine is slow.
    var policy = SessionPolicy(heartbeat: Heartbeat(interval: 5_000, timeout: 600_000))
    var lifePolicy = LifecyclePolicy()
    var slots: [String: [String: Int]] = [:]
    /// Persons with more than names and slots, instead of `persons`.
    var people: [PersonSection] = []
    var retention: [RetentionSection] = []
    var priorities: [PrioritySection] = []
    /// Instances whose sections have errors.
    var refused: [String] = []
    /// The folder of its programs, in which the hub runs too; `nil`: a new one.
    var folder: Folder?
    /// The set-up of a hub without `hub.conf`.
    var setup: (any SetupService)?

    /// Adds an instance whose program is a script.
    mutating func add(_ instance: PluginInstance, script: String) {
        plugins.append(instance)
        executables[instance.name] = script
    }

    func checked(in folder: Folder) -> CheckedConfiguration {
        let hub = HubSection(
            data: folder.data, run: folder.run, clock: clock, memoryLimit: memoryLimit, keepRaw: keepRaw, zone: "UTC",
            tcp: tcp, isInsecure: isInsecure)
        let named = persons.map { name in
            var person = PersonSection(name: name)
            person.slots = slots[name] ?? [:]
            return person
        }
        var configuration = HubConfiguration(hub: hub, persons: people.isEmpty ? named : people, plugins: plugins)
        (configuration.retention, configuration.priorities) = (retention, priorities)
        return CheckedConfiguration(
            loaded: LoadedConfiguration(configuration: configuration, problems: [], refusedInstances: refused),
            manifests: manifests, executables: executables, faults: [:],
            isolation: Isolation(launcher: Programs.path(Isolation.program), line: ""))
    }
}

/// A hub in this process, run as a service.
struct RunningHub: Sendable {
    let hub: Hub
    let folder: Folder
    let log: LogLines
    private let group: ServiceGroup
    private let run: Task<Void, any Error>

    init(
        _ setting: Setting = Setting(), in folder: Folder? = nil, notifier: ServiceNotifier? = nil
    ) async throws {
        let folder = try folder ?? setting.folder ?? Folder()
        try await self.init(
            setting.checked(in: folder), policy: setting.policy, lifePolicy: setting.lifePolicy, notifier: notifier,
            setup: setting.setup, in: folder)
    }

    /// - Parameter reload: Returns the configuration that `hub apply` reads.
    init(
        _ checked: CheckedConfiguration, reload: ConfigurationReload? = nil, policy: SessionPolicy,
        lifePolicy: LifecyclePolicy, notifier: ServiceNotifier? = nil, setup: (any SetupService)? = nil,
        in folder: Folder
    ) async throws {
        let log = LogLines()
        let logger = Logger(label: "hub") { _ in log }
        (self.folder, self.log) = (folder, log)
        let hub = try Hub(
            checked, reload: reload, policy: policy, lifePolicy: lifePolicy, notifier: notifier, setup: setup,
            logger: logger)
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(
                        service: hub, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .cancelGroup)
                ], logger: Logger(label: "group") { _ in SwiftLogNoOpLogHandler() }))
        (self.hub, self.group) = (hub, group)
        run = Task { try await group.run() }
        await hub.waitUntilReady()
    }

    var door: String { hub.endpoints.door }
    var feed: String { hub.endpoints.feed }

    /// Asks the hub to stop, which it does when all pending answers are sent.
    func beginStopping() async { await group.triggerGracefulShutdown() }

    /// Waits until the hub has ended.
    func ended() async throws { try await run.value }

    func stop() async throws {
        await beginStopping()
        try await ended()
    }

    func peer(_ options: Peer.Options = .init()) async throws -> Peer { try await .dealer(door, options) }

    /// Connects a peer and opens a session.
    func client(_ instance: String = "kitchen-script", plugin: String? = nil, _ more: String = "") async throws -> Peer
    {
        let peer = try await peer()
        try await peer.hello(instance, plugin: plugin, more)
        return peer
    }

    /// Connects a listener and waits until the hub has received its subscriptions.
    func listener(_ topics: String..., reads: Bool = true) async throws -> Peer {
        var options = Peer.Options()
        options.reads = reads
        let mark = "mark\(UInt32.random(in: .min ... .max))"
        let listener = try await Peer.listener(feed, topics + (reads ? ["device/marker/\(mark)/"] : []), options)
        guard reads else { return listener }
        let marker = try await client("marker-\(mark)", plugin: "marker")
        // Subscriptions of one listener arrive in order, so the last one shows that all have arrived.
        var others: [Frames] = []
        var isHeard = false
        while !isHeard {
            await marker.say("EVENT", #"{"event":"\#(mark)"}"#)
            while let heard = await listener.nextIfAny(within: .milliseconds(50)) {
                if heard.topic.hasPrefix("device/marker/") { isHeard = true } else { others.append(heard) }
                if isHeard { break }
            }
        }
        _ = try await marker.ask("PING")
        try await listener.unsubscribe("device/marker/\(mark)/")
        await listener.putBack(others, butNot: "device/marker/")
        _ = try await marker.ask("BYE")
        await marker.close()
        return listener
    }
}

/// Runs a hub while `body` runs, and stops it like a service.
func withHub<Value: Sendable>(
    _ setting: Setting = Setting(), in folder: Folder? = nil, _ body: (RunningHub) async throws -> Value
) async throws -> Value {
    let hub = try await RunningHub(setting, in: folder)
    do {
        let value = try await body(hub)
        try await hub.stop()
        return value
    } catch {
        try? await hub.stop()
        throw error
    }
}

/// Runs a hub with a session of the owner.
func withHub<Value: Sendable>(
    _ setting: Setting = Setting(), in folder: Folder? = nil, _ body: (RunningHub, _ client: Peer) async throws -> Value
) async throws -> Value {
    try await withHub(setting, in: folder) { hub in try await body(hub, try await hub.client()) }
}

/// Collects log lines.
final class LogLines: LogHandler, Sendable {
    private let kept = Mutex<[String]>([])
    var lines: [String] { kept.withLock { $0 } }

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .debug }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let details = (event.metadata ?? [:]).map { "\($0)=\($1)" }.sorted().joined(separator: " ")
        kept.withLock { $0.append("\(event.level) \(event.message) \(details)") }
    }
}

/// Polls until `isSo` returns true, for events in other processes that send no message.
func eventually(
    within time: Duration = .seconds(60), _ what: String, _ isSo: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + time
    var pause = Duration.milliseconds(2)
    while try await !isSo() {
        guard ContinuousClock.now < deadline else { throw Silence(description: "not within \(time): \(what)") }
        try await Task.sleep(for: pause)
        pause = min(pause * 1.5, .milliseconds(50))
    }
}
