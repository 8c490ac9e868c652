public import Foundation
public import PluginKit
public import PluginTesting

/// A hub, a place and the runs of a scale's plugin there, with the clock and zone of the tests.
public struct ScaleBench: Sendable {
    public static let zone = TimeZone(identifier: "Europe/Berlin") ?? .gmt
    /// The clock of hub and scale: 13:00 in Berlin.
    public static let clock = "2026-11-20T12:00:00Z@1"

    /// The positions in a session of `length` bytes at which the link is cut: every 13th, or each one with EVERY_BYTE=1 in the environment.
    ///
    /// They come in groups of twelve that run side by side (``eachAtOnce(_:_:)``), because a session mostly waits.
    public static func cuts(of length: Int) -> [[Int]] {
        let step = ProcessInfo.processInfo.environment["EVERY_BYTE"] == nil ? 13 : 1
        let cuts = Array(stride(from: 0, to: length, by: step))
        return stride(from: 0, to: cuts.count, by: 12).map { Array(cuts[$0..<min($0 + 12, cuts.count)]) }
    }

    /// Runs `body` for all cuts side by side; returns when all are done, and throws the error of any of them.
    public static func eachAtOnce(_ cuts: [Int], _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            for cut in cuts { group.addTask { try await body(cut) } }
            try await group.waitForAll()
        }
    }

    public let place: TestPlace
    public let hub: FakeHub

    public init(persons: [Welcome.PersonEntry] = [.init(name: "me", zone: "Europe/Berlin")]) async throws {
        place = try TestPlace()
        var behaviour = FakeHub.Behaviour()
        behaviour.clock = Self.clock
        behaviour.persons = persons
        hub = try FakeHub(door: place.door, context: place.context, behaviour: behaviour)
        try await hub.start()
    }

    /// Starts a plugin with settings from the hub.
    public func run<P: Plugin>(_ plugin: P, _ settings: RawJSON, mode: Hello.Mode = .run) async -> PluginRun {
        await hub.change { $0.settings = settings }
        return PluginRun(plugin, at: place, mode: mode, settings: nil)
    }

    /// Stops the plugin and returns how it ended.
    public func end(_ run: PluginRun) async -> PluginExit {
        run.stop()
        return await run.end()
    }

    /// Returns the events of this name as soon as the hub has `count` of them.
    public func events(_ name: String, _ count: Int = 1) async -> [DeviceEvent] {
        await hub.wait { $0.events.filter { $0.event == name }.count >= count }
        return await hub.events.filter { $0.event == name }
    }

    public var samples: [Sample] {
        get async { await hub.held.compactMap { if case .sample(let sample) = $0.record { sample } else { nil } } }
    }

    /// The place of the real program, in a folder above the bundle of the tests.
    public static func program(_ program: String) throws -> URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundlePath
        var folder = URL(filePath: bundle ?? CommandLine.arguments[0])
        while folder.path != "/", !FileManager.default.isExecutableFile(atPath: folder.appending(path: program).path) {
            folder.deleteLastPathComponent()
        }
        guard folder.path != "/" else { throw PluginFailure(.failed, "\(program) is not built") }
        return folder.appending(path: program)
    }

    /// Starts the real program as the hub does, but without a launch token.
    public func start(_ program: String) throws -> Process {
        let process = Process()
        process.executableURL = try Self.program(program)
        process.arguments = ["--run", "--door", hub.door, "--state", place.state]
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        return process
    }
}
