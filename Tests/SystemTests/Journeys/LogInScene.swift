import Foundation
import HubProcess

/// A service, a hub with a plugin for it, and a person at the hub's command line.
final class LogInScene: Sendable {
    let server: OAuthServer
    let host: HubHost
    let redirect: String

    /// - Parameter settings: more settings of `[plugin.cloud]`.
    init(_ settings: String = "", host name: String = "127.0.0.1", hub: String = "") throws {
        server = try OAuthServer()
        redirect = "http://\(name):\(try FreePort.next())/back"
        host = try HubHost(
            hub: hub,
            plugins: """
                [plugin.cloud]
                executable = "\(Programs.path("example-cloud"))"
                service = "\(server.base)"
                redirect = "\(redirect)"
                \(settings)
                """)
    }

    /// A scene whose hub has a session with the plugin.
    static func running(_ settings: String = "", host name: String = "127.0.0.1", hub: String = "") async throws -> (
        scene: LogInScene, hub: ChildProcess
    ) {
        let scene = try LogInScene(settings, host: name, hub: hub)
        let hub = try await scene.host.start()
        try await scene.isRunning()
        return (scene, hub)
    }

    /// Begins `hub login cloud`, and returns the address of the page that it shows.
    func begin(_ arguments: [String] = [], browser: String = "") async throws -> (login: ChildProcess, url: String) {
        try await host.beginLogIn("cloud", arguments, browser: browser)
    }

    /// Begins `hub login cloud --paste`; `answer` makes the pasted line of the page's address.
    func paste(_ answer: (String) throws -> String) async throws -> ChildProcess {
        let pipe = "\(host.folder.path)/typed-\(UInt32.random(in: 0 ... .max))"
        guard mkfifo(pipe, 0o600) == 0 else { throw NoPage(errors: ["no fifo"]) }
        let words = [Programs.path("hub"), "login", "cloud", "--paste"]
        let login = try ChildProcess(
            "/bin/sh", ["-c", "exec \"$@\" <> \(pipe)", "sh"] + words, environment: host.withoutBrowser())
        _ = await login.errorLines(count: 1) { $0.contains("not displayed") }
        let url = login.errorLines.map { $0.trimmingCharacters(in: .whitespaces) }.first { $0.hasPrefix("http") }
        let file = try FileHandle(forWritingTo: URL(filePath: pipe))
        try file.write(contentsOf: Data((try answer(url ?? "") + "\n").utf8))
        try file.close()
        return login
    }

    /// Logs in with a scripted browser.
    /// - Returns: the last page in the browser.
    @discardableResult func logIn() async throws -> String {
        let (login, url) = try await begin()
        let page = try ScriptedBrowser().open(url).page
        let status = await login.waitForExit()
        guard status == 0 else { throw NoPage(errors: login.errorLines) }
        return page.body
    }

    struct Token: Decodable, Equatable {
        var account: String
        var state: String
        var user: String?
        var expires: String?
        var failure: String?
        var advice: String?
    }

    /// The log-in in `hub status`.
    func token() async throws -> Token? {
        struct Status: Decodable {
            struct Plugin: Decodable { var tokens: [Token]? }
            var plugins: [Plugin]
        }
        return try await host.json("status", as: Status.self).plugins[0].tokens?.first
    }

    /// Asks for the log-in until it is as expected, at most for a minute.
    func token(_ isMeant: (Token?) -> Bool) async throws -> Token? {
        let limit = ContinuousClock.now + .seconds(60)
        var token: Token?
        try await eventually {
            token = try await self.token()
            return isMeant(token) || ContinuousClock.now > limit
        }
        return token
    }

    /// Makes the plugin ask the service who is logged in, with a valid token.
    func refresh() async throws -> (status: Int, said: String) {
        let result = try await host.command("refresh", "cloud")
        return (result.status, (result.lines + result.errors).joined(separator: "\n"))
    }

    /// Waits until the plugin has a session.
    func isRunning() async throws {
        try await eventually { try await host.command("status", "--json").lines.joined().contains(#""alive":true"#) }
    }

    /// The files in the hub's folder that contain one of the server's secrets.
    func leaks() throws -> [String] {
        let secrets = server.secrets.map { Data($0.utf8) }
        let folder = URL(filePath: host.folder.path)
        var found: [String] = []
        for case let file as URL in FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            ?? .init()
        {
            guard let data = try? Data(contentsOf: file) else { continue }
            if secrets.contains(where: { data.range(of: $0) != nil }) { found.append(file.lastPathComponent) }
        }
        return found
    }
}
