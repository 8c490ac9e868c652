import Foundation
import HubClient
import HubCore
import HubStore
import HubWire
import Samples
import Synchronization

/// One plugin in a whole hub, which starts it and stores its records, and which can be killed and restored.
final class HostedPlugin: Sendable {
    private let subject: PluginUnderTest
    private let folder: String
    private let standIn: SimulatorProcess?
    private let hub = Mutex<HubInstance?>(nil)
    /// The lines that the hub has printed.
    private let said = AwaitableValue<[String]>([])

    private var configuration: String { "\(folder)/hub.conf" }

    init(_ subject: PluginUnderTest) throws {
        // Short: a socket's path has at most 107 bytes.
        let folder = "/tmp/hub-home-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        (self.subject, self.folder) = (subject, folder)
        do {
            standIn = try subject.simulator.map { try SimulatorProcess($0, scratch: folder) }
            let values = standIn?.values ?? [:]
            try subject.configuration(folder, values, hub: "log_level = \"warning\"").write(
                toFile: "\(folder)/hub.conf", atomically: true, encoding: .utf8)
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    /// Ends the hub and the stand-in, and removes the folder.
    func close() async {
        await end()
        standIn?.end()
        try? FileManager.default.removeItem(atPath: folder)
    }

    // MARK: - Life of the hub

    /// Starts the hub, which starts the plugin.
    ///
    /// - Parameter isFirst: whether the hub first gets the data that it has from before the plugin came.
    func start(isFirst: Bool = false) async throws {
        if isFirst, standIn?.tokens.isEmpty == false {
            // The first hub creates the store; without it, a hub does not accept tokens as its own.
            try await start()
            await end()
            try await logIn()
        }
        let hub: HubInstance
        do {
            hub = try await HubInstance(
                configuration: configuration, run: "\(folder)/run", instance: subject.name
            ) { [said] line in said.change { $0 = ($0 + [line]).suffix(3) } }
        } catch { throw ConformanceTest.Verdict.open("\(error): \(said.value.joined(separator: "; "))") }
        self.hub.withLock { $0 = hub }
        if isFirst, !subject.records.isEmpty {
            try GeneratedBatch.give(subject.records, as: "before", to: hub.endpoints)
        }
    }

    /// Gives the stopped hub the tokens that the stand-in knows, as log-ins would.
    private func logIn() async throws {
        let secrets = try SecretStore(path: HubFiles(data: "\(folder)/data", run: "\(folder)/run").secrets)
        for (name, token) in standIn?.tokens ?? [:] {
            let account = TokenAccount(instance: subject.name, name: name)
            _ = try await secrets.put(
                NewToken(json: Array(token.utf8), expires: nil, isRenewable: false), for: account, expecting: 0,
                at: HubClock.system.now())
        }
        try secrets.close()
    }

    /// Kills the hub as `kill -9` does: the plugin's stdin ends with it.
    func kill() async { await hub.withLock { $0.take() }?.kill() }

    func end() async { await hub.withLock { $0.take() }?.end() }

    /// Copies the store.
    func backup() async throws { try await run(["backup", "\(folder)/before.sqlite"]) }

    /// Replaces the store with the copy; the hub must not be running.
    func restore() async throws { try await run(["restore", "\(folder)/before.sqlite", "--yes"]) }

    private func run(_ arguments: [String]) async throws {
        let child = Process.silent(HubProgram.beside("hub"), arguments + ["--config", configuration])
        try child.run()
        let code = try await blocking {
            child.waitUntilExit()
            return child.terminationStatus
        }
        if code != 0 { throw ConformanceTest.Verdict.open("hub \(arguments[0]) ended with exit code \(code)") }
    }

    // MARK: - State

    private var door: String {
        get throws {
            guard let hub = hub.withLock(\.self) else { throw ConformanceTest.Verdict.open("the hub has ended") }
            return hub.endpoints.door
        }
    }

    /// Gives the plugin made-up records to deliver.
    func sendGenerated() async throws {
        guard let hub = hub.withLock(\.self) else { return }
        let name = subject.name
        try await blocking { _ = try GeneratedBatch.give(for: name, hub.endpoints) }
    }

    func status() async throws -> HubStatus {
        let door = try door
        return try await blocking {
            try DoorClient(endpoint: door, command: "plugin-test", patience: .seconds(60))
                .ask(.status, as: HubStatus.self)
        }
    }

    /// The records that the plugin has given.
    ///
    /// - Parameter plugin: its kind.
    func records(of plugin: String) async throws -> [Record] {
        let door = try door
        return try await blocking {
            try [nil, [RecordKind.day]].flatMap { kinds in
                var filter = QueryRequest.Filter()
                (filter.sources, filter.kinds) = ([plugin], kinds)
                let client = try DoorClient(endpoint: door, command: "plugin-test", patience: .seconds(60))
                return try client.records(QueryRequest(id: 0, filter: filter)).map(\.record)
            }
        }
    }

    /// The faults of the plugin according to the hub.
    func faults() async throws -> [String] {
        guard let plugin = try await status().plugins.first(where: { $0.name == subject.name }) else {
            return ["the hub does not know it"]
        }
        switch plugin.state {
        case .failed, .quarantined, .silent, .restarting:
            return ["it is \(plugin.state.rawValue)" + (plugin.lastError.map { ": \($0)" } ?? "")]
        default:
            // It may have been restarted just now.
            guard plugin.restarts == 0 else {
                return ["it had to be started again" + (plugin.lastError.map { ": \($0)" } ?? "")]
            }
            return []
        }
    }

    /// Whether the plugin has done its work and ended.
    func isAtRest() async throws -> Bool {
        try await status().plugins.contains { $0.name == subject.name && [.finished, .resting].contains($0.state) }
    }

    /// Waits until a figure is at least `count` and stays unchanged for a while, or until the patience is over.
    ///
    /// - Parameter until: how long the figure must stay unchanged; ``PluginUnderTest/settle`` if `nil`.
    func settle(atLeast count: Int64, until rest: Duration? = nil, _ figure: (HubStatus) -> Int64) async throws {
        let deadline = ContinuousClock.now + subject.patience
        var (known, since) = (Int64(-1), ContinuousClock.now)
        while ContinuousClock.now < deadline {
            let now = figure(try await status())
            if now != known { (known, since) = (now, .now) }
            if now >= count, ContinuousClock.now - since >= rest ?? subject.settle { return }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
