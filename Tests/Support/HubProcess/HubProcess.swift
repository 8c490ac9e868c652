import Foundation
import Synchronization

/// The programs of this package, as the build made them.
public enum Programs {
    /// The folder of the running test bundle, where the executables are.
    public static let folder: String = {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundlePath
        let path = bundle ?? CommandLine.arguments[0]
        return URL(filePath: path).deletingLastPathComponent().path
    }()

    public static func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// Runs one command of `hub` to its end.
    public static func hub(_ arguments: [String]) async throws -> ChildProcess.Result {
        try await ChildProcess("hub", arguments).result()
    }
}

/// A folder for one test, which is removed with this object.
///
/// Its path is short, because the paths of sockets must be.
public final class TemporaryFolder: Sendable {
    public let path: String

    private let isKept = Atomic(false)

    /// - Parameter path: a folder that does not exist yet; `nil`: a random name.
    public init(at path: String? = nil) throws {
        self.path = path ?? "/tmp/hub-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: self.path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        if !isKept.load(ordering: .relaxed) { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Keeps the folder, so that a person can look into it.
    public func keep() { isKept.store(true, ordering: .relaxed) }

    /// The path of its `hub.conf`, if it has one.
    public var configuration: String { path + "/hub.conf" }

    /// Writes a file into the folder, or into folders in it, and returns its path.
    @discardableResult public func write(
        _ text: String, to name: String = "hub.conf", isProgram: Bool = false
    ) throws -> String {
        let file = try write(Array(text.utf8), to: name)
        if isProgram { try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file) }
        return file
    }

    /// Writes a file into the folder, or into folders in it, and returns its path.
    @discardableResult public func write(_ bytes: [UInt8], to name: String) throws -> String {
        let file = URL(filePath: "\(path)/\(name)")
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file, options: .atomic)
        return file.path
    }
}

/// `hub run` in its own folder; a test starts it, kills it and starts it again on the same store.
public final class HubHost: Sendable {
    public let folder: TemporaryFolder
    public let configuration: String

    /// - Parameters:
    ///   - path: the folder; needed if the tables of plugins name files in it.
    ///   - hub: more settings of `[hub]`.
    ///   - plugins: tables of `hub.conf` beside `[hub]` and `[person.me]`.
    public init(at path: String? = nil, hub: String = "", plugins: String = "") throws {
        folder = try TemporaryFolder(at: path)
        configuration = try folder.write(
            """
            [hub]
            data = "\(folder.path)/data"
            run = "\(folder.path)/run"
            \(hub)

            [person.me]
            zone = "Europe/Berlin"

            \(plugins)
            """, to: "hub.conf")
    }

    public var environment: [String: String] {
        [
            "HUB_DOOR": "ipc://\(folder.path)/run/door", "HUB_FEED": "ipc://\(folder.path)/run/feed",
            "HUB_CONF": configuration,
        ]
    }

    /// Starts the hub and returns when it is ready.
    public func start() async throws -> ChildProcess {
        let hub = try ChildProcess("hub", ["run", "--config", configuration])
        let ready = await hub.errorLines(count: 1) { $0.contains("ready") }
        guard !ready.isEmpty else { throw HubDidNotStart(log: hub.errorLines) }
        return hub
    }

    /// Runs one `hub` command to its end.
    public func command(_ arguments: String...) async throws -> (status: Int, lines: [String], errors: [String]) {
        try await command(arguments)
    }

    /// The endpoint of the owner's door.
    public var door: String { environment["HUB_DOOR"] ?? "" }

    /// Changes the text of hub.conf; the hub does not apply it.
    public func edit(_ change: (String) -> String) throws {
        try folder.write(change(try String(contentsOfFile: configuration, encoding: .utf8)), to: "hub.conf")
    }

    /// Starts a plugin's program outside the hub, with settings in TOML.
    ///
    /// - Parameter state: its state folder, in the folder of the hub.
    public func plugin(
        _ program: String, _ verb: String = "--run", settings: String, state: String = "plugin", _ more: [String] = []
    ) throws -> ChildProcess {
        let file = try folder.write(settings, to: "\(state).conf")
        return try ChildProcess(
            program, [verb, "--settings", file, "--door", door, "--state", "\(folder.path)/\(state)"] + more)
    }

    /// The result of a command with `--json`.
    public func json<Result: Decodable>(
        _ arguments: String..., as type: Result.Type = Result.self
    ) async throws -> Result {
        let lines = try await command(arguments + ["--json"]).lines
        return try JSONDecoder().decode(type, from: Data(lines.joined().utf8))
    }

    /// The results of a command with `--json`, each on a line.
    public func jsonLines<Result: Decodable>(
        _ arguments: String..., as type: Result.Type = Result.self
    ) async throws -> [Result] {
        try await command(arguments + ["--json"]).lines.map { try JSONDecoder().decode(type, from: Data($0.utf8)) }
    }

    /// Runs one `hub` command to its end.
    public func command(_ arguments: [String]) async throws -> (status: Int, lines: [String], errors: [String]) {
        let child = try ChildProcess("hub", arguments, environment: ["HUB_CONF": configuration])
        let status = Int(await child.result().code)
        return (status, child.lines, child.errorLines)
    }
}

/// The error if a hub did not start, with its log.
public struct HubDidNotStart: Error, CustomStringConvertible {
    public let log: [String]
    public var description: String { "the hub did not start:\n" + log.joined(separator: "\n") }
}
