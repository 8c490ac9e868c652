import Foundation
import GRDB
import HubProcess
import HubSettings
import HubWire

@testable import HubCore

extension RawConnection {
    /// The greeting of ZMTP 3.0 with the mechanism NULL, and the READY of a DEALER.
    static var handshake: [UInt8] {
        var greeting: [UInt8] = [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 0] + Array("NULL".utf8)
        greeting += [UInt8](repeating: 0, count: 64 - greeting.count)
        let name = Array("Socket-Type".utf8)
        let value = Array("DEALER".utf8)
        let ready = [5] + Array("READY".utf8) + [UInt8(name.count)] + name + [0, 0, 0, UInt8(value.count)] + value
        return greeting + [4, UInt8(ready.count)] + ready
    }

    static func frame(_ text: String, more: Bool) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count > 255 else { return [more ? 1 : 0, UInt8(bytes.count)] + bytes }
        let size = withUnsafeBytes(of: UInt64(bytes.count).bigEndian, Array.init)
        return [more ? 3 : 2] + size + bytes
    }
}

/// Holds the store's write lock, as another program might.
///
/// Commits wait up to five seconds and then fail.
final class StoreHold: Sendable {
    private let queue: DatabaseQueue

    init(_ folder: Folder) throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        // The hub may still write at its start.
        configuration.busyMode = .timeout(10)
        queue = try DatabaseQueue(path: folder.data + "/hub.sqlite", configuration: configuration)
        try queue.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
    }

    func release() throws { try queue.inDatabase { try $0.execute(sql: "ROLLBACK") } }
}

/// A fault in the store of a running hub, until it is repaired.
struct StoreFault {
    /// The operation that fails at once.
    enum Operation { case commits, sinkStates, sinkAccounts }
    private let queue: DatabaseQueue
    private let end: String

    init(_ folder: Folder, _ operation: Operation = .commits) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        queue = try DatabaseQueue(path: folder.data + "/hub.sqlite", configuration: configuration)
        func trigger(_ event: String) -> (String, String) {
            (
                "CREATE TRIGGER fault BEFORE \(event) BEGIN SELECT RAISE(ABORT, 'out of order'); END",
                "DROP TRIGGER fault"
            )
        }
        let begin: String
        (begin, end) =
            switch operation {
            case .commits: trigger("INSERT ON sample")
            case .sinkStates: ("ALTER TABLE gap RENAME TO lost", "ALTER TABLE lost RENAME TO gap")
            case .sinkAccounts: trigger("UPDATE ON sink")
            }
        try queue.write { try $0.execute(sql: begin) }
    }

    func repair() throws { try queue.write { try $0.execute(sql: end) } }
}

extension Setting {
    static var household: Setting {
        var setting = Setting()
        setting.persons = ["me", "you"]
        return setting
    }

    /// The plugin `slow` keeps the hub stopping until ``Folder/letSlowPluginEnd()``.
    static func stoppingSlowly(in folder: Folder) throws -> Setting {
        var setting = Setting()
        setting.add(
            PluginInstance(name: "slow"),
            script: try folder.script(
                "slow",
                """
                trap '' TERM
                read token
                touch "$HUB_STATE/up"
                cat > /dev/null
                while [ ! -e "$HUB_STATE/go" ]; do sleep 0.02; done
                """))
        return setting
    }

    /// Instances whose programs only save their launch token for the test.
    static func withTokens(_ instances: [String], in folder: Folder? = nil) throws -> Setting {
        let folder = try folder ?? Folder()
        let script = try folder.script(
            "teller",
            """
            read token
            printf %s "$token" > "$HUB_STATE/token.part"
            mv "$HUB_STATE/token.part" "$HUB_STATE/token"
            cat > /dev/null
            """)
        var setting = Setting()
        setting.folder = folder
        for instance in instances { setting.add(PluginInstance(name: instance), script: script) }
        return setting
    }
}

extension Folder {
    /// Writes `hub.conf`: `[hub]` with these lines, and these tables.
    func configure(_ tables: String, hub: String = "") throws {
        try "[hub]\ndata = \"\(data)\"\nrun = \"\(run)\"\n\(hub)\(tables)".write(
            toFile: path + "/hub.conf", atomically: true, encoding: .utf8)
    }

    /// Reads `hub.conf`.
    ///
    /// - Parameter patience: The maximum time for an answer of a plugin's program.
    func loader(patience: Duration = .seconds(60)) -> ConfigurationLoader {
        ConfigurationLoader(
            path: path + "/hub.conf", environment: .process(), programPath: path + "/hub", patience: patience,
            launcherFolder: Programs.folder)
    }

    /// Runs a hub with `hub.conf`, which `hub apply` reads again.
    func startHub(_ policy: LifecyclePolicy = LifecyclePolicy()) async throws -> RunningHub {
        let loader = loader()
        return try await RunningHub(
            await loader.load(), reload: { await loader.load($0) }, policy: Setting().policy, lifePolicy: policy,
            in: self)
    }

    func letSlowPluginEnd() throws { try Data().write(to: URL(filePath: "\(data)/plugins/slow/go")) }
}

extension RunningHub {
    /// Waits for a file that an instance's process writes into its folder, and returns its text.
    func told(_ instance: String, _ file: String) async throws -> String {
        let path = "\(folder.data)/plugins/\(instance)/\(file)"
        try await eventually("\(instance) writes \(file)") { FileManager.default.fileExists(atPath: path) }
        return try String(contentsOfFile: path, encoding: .utf8)
    }

    func token(of instance: String) async throws -> String { try await told(instance, "token") }

    /// Opens a session for an instance whose process runs, with the token that the process has saved.
    func plugin(_ instance: String, plugin: String? = nil, mode: String = "run") async throws -> Peer {
        let options = Peer.Options(user: instance, password: try await token(of: instance))
        let peer = try await Peer.dealer(hub.endpoints.pluginDoor, options)
        try await peer.hello(instance, plugin: plugin, mode: mode)
        return peer
    }
}
