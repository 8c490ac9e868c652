import Foundation
import HubProcess

/// A SAMI-compatible server, a hub with the connector, and a person at the hub's command line.
final class SAMIScene: Sendable {
    static let scale = "c0ffee00112233445566778899aabbcc"

    let host: HubHost
    let base: String
    private let options: [String]

    /// - Parameters:
    ///   - options: options of the server, at each start.
    ///   - settings: more settings of `[plugin.sami]`.
    init(_ options: [String] = [], settings: String = "") throws {
        let port = try FreePort.next()
        let redirect = "http://127.0.0.1:\(try FreePort.next())/"
        base = "http://127.0.0.1:\(port)"
        host = try HubHost(
            plugins: """
                [plugin.sami]
                executable = "\(Programs.path("hub-sami"))"
                base = "\(base)/v1.1"
                client_id = "a11ce0000000000000000000000000aa"
                redirect = "\(redirect)"
                \(settings)
                """)
        self.options =
            ["--listen", "127.0.0.1:\(port)", "--state", "\(host.folder.path)/sami.sqlite", "--redirect", redirect]
            + options
    }

    /// Starts the server, with the same port and file each time, and returns when it listens.
    /// - Parameter history: the number of messages to invent in addition to the existing ones.
    func startServer(history: Int = 0) async throws -> ChildProcess {
        let server = try ChildProcess("hub-sami-server", options + (history > 0 ? ["--history", "\(history)"] : []))
        guard await !server.lines(count: 1).isEmpty else { throw Trouble(what: server.errorLines.joined()) }
        return server
    }

    func startHub() async throws -> ChildProcess {
        let hub = try await host.start()
        try await until("the plugin runs") { try await self.status().plugin.alive }
        return hub
    }

    /// The plugin in `hub status`.
    struct Status: Decodable, Sendable {
        struct Plugin: Decodable, Sendable {
            var alive: Bool
            var pid: Int32?
            var lastError: String?
        }
        struct Sink: Decodable, Sendable {
            var name: String
            var delivered, pending, retrying: Int
        }
        var plugins: [Plugin]
        var sinks: [Sink]
        var plugin: Plugin { plugins[0] }
    }

    func status() async throws -> Status { try await host.json("status") }

    /// Returns when the plugin has declared the fields of all devices to the hub, which begins a new session.
    func canBeAsked() async throws {
        try await until("the plugin accepts commands") { try await self.host.command("refresh", "sami").status == 0 }
    }

    /// Whether `hub status` has a line with this error of the plugin.
    func says(_ isMeant: (String) -> Bool) async throws -> Bool {
        try await host.command("status").lines.contains { $0.hasPrefix("sami says: ") && isMeant($0) }
    }

    /// Kills the plugin as a power cut would, and waits until the hub has started it again.
    func killPlugin() async throws {
        guard let pid = try await status().plugin.pid else { throw Trouble(what: "the plugin has no process") }
        kill(pid, SIGKILL)
        try await until("the hub has started another process") {
            let plugin = try await self.status().plugin
            return plugin.alive && plugin.pid != pid
        }
    }

    // MARK: - The server from outside

    @discardableResult
    func send(_ method: String, _ path: String, _ fields: [String: String] = [:], body: String = "") throws
        -> HTTPMessage
    {
        try ScriptedBrowser().send(method, base + path, fields, body: body)
    }

    private struct Grant: Decodable { var access_token: String }

    /// A token of the person who owns the scale.
    func token() throws -> String {
        try JSONDecoder().decode(Grant.self, from: Data(try send("POST", "/control/tokens", body: "{}").body.utf8))
            .access_token
    }

    /// Posts a weight of the scale, as an app does.
    func weigh(_ kilograms: Double, at time: Int64) throws {
        let answer = try send(
            "POST", "/v1.1/messages",
            ["Authorization": "Bearer \(try token())", "Content-Type": "application/json"],
            body: #"{"sdid":"\#(Self.scale)","ts":\#(time),"data":{"weight":\#(kilograms)}}"#)
        guard answer.status == 200 else { throw Trouble(what: answer.body) }
    }

    /// Posts a weight of the scale with the official Python SDK (``Need/artikcloud``).
    func weighBySDK(_ kilograms: Double, at time: Int64) throws -> ChildProcess {
        let here = URL(filePath: #filePath).deletingLastPathComponent()
        return try ChildProcess(
            "/usr/bin/env",
            [
                "python3", here.appending(path: "sami_weigh.py").path, base, try token(), Self.scale,
                "\(kilograms)", "\(time)",
            ], environment: ["PYTHONPATH": Need.pythonPackages])
    }

    private struct Devices: Decodable {
        struct Page: Decodable { var devices: [Device] }
        struct Device: Decodable { var id, name: String }
        var data: Page
    }
    private struct Messages: Decodable {
        struct Message: Decodable { var ts: Int64, data: [String: Double] }
        var data: [Message]
    }

    /// The weights of the device that the plugin has registered; empty if it has registered none.
    func posted() throws -> [Double] {
        let fields = ["Authorization": "Bearer \(try token())"]
        let user = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
        let devices = try JSONDecoder().decode(
            Devices.self, from: Data(try send("GET", "/v1.1/users/\(user)/devices", fields).body.utf8))
        let own = devices.data.devices.filter { $0.name.hasPrefix("Health hub ") }
        guard own.count == 1 else {
            guard own.isEmpty else { throw Trouble(what: "expected one registered device, found \(own.count)") }
            return []
        }
        let page = try JSONDecoder().decode(
            Messages.self,
            from: Data(try send("GET", "/v1.1/messages/last?count=100&sdids=\(own[0].id)", fields).body.utf8))
        return page.data.compactMap { $0.data["weight"] }.sorted()
    }

    // MARK: - The log-in

    /// Goes through the service's pages as a browser does, while `hub login` waits for the end.
    func logIn(decision: String = "allow") async throws -> ChildProcess {
        let (login, url) = try await host.beginLogIn("sami")
        let query = String(url.split(separator: "?", maxSplits: 1).last ?? "")
        let form = ["Content-Type": "application/x-www-form-urlencoded"]
        let entered = try send("POST", "/login", form, body: "query=\(escaped(query))&name=ada&password=withings")
        let cookie = entered.fields["set-cookie"]?.split(separator: ";").first.map(String.init) ?? ""
        let page = try send("GET", entered.fields["location"] ?? "/", ["Cookie": cookie])
        let mark = page.body.split(separator: "name=mark value=\"").dropFirst().first?.prefix { $0 != "\"" } ?? ""
        let end = try send(
            "POST", "/consent", form.merging(["Cookie": cookie]) { $1 },
            body: "query=\(escaped(query))&mark=\(mark)&decision=\(decision)")
        _ = try ScriptedBrowser().open(end.fields["location"] ?? "")
        return login
    }

    private func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    // MARK: - Records in the hub

    struct Held: Decodable, Sendable {
        struct Source: Decodable, Sendable { var device: String? }
        var key: String
        var value: Double
        var unit: String
    }

    func weights() async throws -> [Held] { try await host.jsonLines("samples", "weight") }

    /// Checks a condition of the hub or the service repeatedly, because neither reports the change.
    func until(_ what: String, _ isSo: () async throws -> Bool) async throws {
        let limit = ContinuousClock.now + .seconds(60)
        try await eventually {
            guard ContinuousClock.now < limit else { throw Trouble(what: "not within a minute: \(what)") }
            return try await isSo()
        }
    }

    struct Trouble: Error, CustomStringConvertible {
        let what: String
        var description: String { what }
    }
}
