import Foundation
import Glibc
import HubProcess
import JSON
import Synchronization
import Testing

/// A hub with the plugin and a centre of one host, all real processes.
final class CentralScene: Sendable {
    let server: PostgreSQLServer
    let host: HubHost
    private let hub: Mutex<ChildProcess>
    /// Server files, which are separate because the plugin must not read the server owner's files.
    private let files: TemporaryFolder

    /// A centre with the schema, a study `heart`, and this hub's role, to which the study is offered.
    ///
    /// - Parameter settings: settings of the server.
    static func centre(settings: [String] = []) async throws -> PostgreSQLServer {
        try await PostgreSQLServer(copying: try await prepared.value, settings: settings)
    }

    /// The files of a centre, which is made once, because the schema takes longer than a copy.
    private static let prepared = Task {
        let server = try await PostgreSQLServer()
        try await server.sql("CREATE DATABASE central")
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Schema")
            .standardizedFileURL
        let migrations = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            .filter { $0.hasSuffix(".sql") }.map { try String(contentsOf: folder.appending(path: $0), encoding: .utf8) }
        try await server.sql(
            migrations.map { "BEGIN;\n\($0)\n;COMMIT;\n" }.joined() + """
                CREATE ROLE hub_house LOGIN IN ROLE hub;
                CREATE ROLE heart_reader IN ROLE staff;
                INSERT INTO central.hub (login) VALUES ('hub_house');
                INSERT INTO central.type (id, unit) VALUES ('weight', 'kg'), ('stepCount', 'count'), ('heartRate', 'count/min'), ('stateOfMind', NULL);
                INSERT INTO central.study (name, title, words, reader, types) VALUES
                    ('heart', 'Hearts', 'We look at weights.', 'heart_reader', (SELECT array_agg(type_no) FROM central.type WHERE id <> 'heartRate'));
                INSERT INTO central.offer SELECT hub_no, study_no FROM central.hub, central.study;
                """, database: "central")
        return try await server.stopAndKeepFiles()
    }

    /// - Parameters:
    ///   - server: a centre; a new one if not given.
    ///   - login: the role in the hub's certificate; nil for no certificate.
    ///   - settings: more settings of the plugin.
    ///   - hub: settings of `[hub]`.
    ///   - persons: others than `me`, each with a zone.
    init(
        at server: PostgreSQLServer? = nil, login: String? = "hub_house", hosts: [String]? = nil, settings: String = "",
        hub: String = "", persons: [(name: String, zone: String)] = []
    ) async throws {
        files = try TemporaryFolder()
        self.server = if let server { server } else { try await Self.centre() }
        var lines = persons.map { "[person.\($0.name)]\nzone = \"\($0.zone)\"\n" }
        lines += ["[plugin.central]", "enabled = true", "grants = { owner = [\"forget-sink\"] }", settings]
        if let login {
            let made = try await self.server.certificate(login)
            let hosts = hosts ?? ["127.0.0.1:\(self.server.port)"]
            lines.append("hosts = \(hosts)")
            let paths = [("certificate", made.certificate), ("key", made.key), ("authority", self.server.authority)]
            for (name, path) in paths {
                let file = try files.write(try String(contentsOfFile: path, encoding: .utf8), to: "\(name).pem")
                chmod(file, 0o600)
                lines.append("\(name) = \"\(file)\"")
            }
        }
        host = try HubHost(hub: hub, plugins: lines.joined(separator: "\n"))
        self.hub = Mutex(try await host.start())
        try await settled()
    }

    /// Stops the hub, changes its files, and starts it.
    func whileStopped(_ body: () async throws -> Void) async throws {
        let old = hub.withLock { $0 }
        _ = await old.stop()
        try await body()
        let new = try await host.start()
        hub.withLock { $0 = new }
        try await settled()
    }

    /// Returns when the plugin has a session with the hub.
    private func settled() async throws {
        try await eventually { try await plugin()?["alive"] as? Bool == true }
    }

    func plugin() async throws -> [String: Any]? {
        let status = try await object(["status", "--json"])
        let plugins = status["plugins"] as? [[String: Any]]
        return plugins?.first { $0["name"] as? String == "central" }
    }

    /// Waits until the plugin runs, and kills its process; the hub starts another.
    func killPlugin() async throws {
        try await eventually {
            guard let pid = try await plugin()?["pid"] as? Int else { return false }
            return kill(pid_t(pid), SIGKILL) == 0
        }
    }

    // MARK: - The hub

    @discardableResult func command(_ arguments: String...) async throws -> [String] {
        let result = try await host.command(arguments)
        try #require(result.status == 0, "\(arguments): \(result.errors) \(result.lines)")
        return result.lines
    }

    private func object(_ arguments: [String]) async throws -> [String: Any] {
        let text = try await host.command(arguments).lines.joined()
        return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
    }

    /// Runs a command of the plugin, and returns its answer.
    func ask(_ words: String...) async throws -> JSONTree {
        let lines = try await host.command(["do", "central"] + words + ["--json"])
        try #require(lines.status == 0, "\(words): \(lines.errors) \(lines.lines)")
        return try #require(JSONTree(Array(lines.lines.joined(separator: "\n").utf8)))
    }

    /// Runs a command that the plugin must refuse, and returns the errors.
    func refusal(_ words: String...) async throws -> String {
        let result = try await host.command(["do", "central"] + words)
        #expect(result.status != 0, "\(result.lines)")
        return result.errors.joined(separator: "\n")
    }

    @discardableResult
    func consent(_ person: String = "me", types: String = "weight", since: String = "2000-01-01") async throws
        -> JSONTree
    {
        try await ask("consent", "study=heart", "person=\(person)", "types=\(types)", "since=\(since)")
    }

    /// Enters a weight by hand, and returns its number.
    func log(_ value: String, at time: String = "2026-03-15 07:30", person: String = "me") async throws -> Int {
        let lines = try await command("log", "weight", value, "--at", time, "--person", person, "--yes", "--json")
        let answer = try #require(JSONTree(Array(lines.joined().utf8)))
        return try #require(answer["records"]?.list?.first?["number"]?.integer)
    }

    /// The state of a record's delivery to the centre.
    func delivery(_ number: Int) async throws -> [String: Any]? {
        let trace = try await object(["trace", "\(number)", "--json"])
        return (trace["deliveries"] as? [[String: Any]])?.first
    }

    /// Waits until a record's newest version has a receipt, and returns it.
    func receipt(_ number: Int) async throws -> String {
        var receipt = ""
        try await eventually {
            guard let delivery = try await delivery(number), delivery["state"] as? String == "delivered",
                let found = (delivery["confirmed"] as? [String: Any])?["receipt"] as? String
            else { return false }
            receipt = found
            return true
        }
        return receipt
    }

    // MARK: - The centre

    /// The centre's records, oldest first: columns of `central.record` separated by `|`.
    func rows(_ columns: String = "kind, value") async throws -> [String] {
        try await sql("SELECT \(columns) FROM central.record ORDER BY seq")
    }

    /// Runs SQL as the desk; its commits wait for no replica.
    @discardableResult func sql(_ text: String) async throws -> [String] {
        try await server.sql("SET synchronous_commit = local; \(text)", database: "central")
    }

    /// Returns when a query to the centre has this answer.
    func until(_ question: String, is answer: [String]) async throws {
        try await eventually { (try? await sql(question)) == answer }
    }

    /// Waits until the plugin reports a problem with these words.
    func fault(with words: String) async throws -> String {
        try await eventually { try await host.command(["status", "--json"]).lines.joined().contains(words) }
        return words
    }
}
