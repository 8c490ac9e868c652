import Foundation
import Glibc
import HubProcess
import Testing

/// A hub with the page, and its browser.
final class Scene: Sendable {
    private let host: HubHost
    private let hub: ChildProcess
    let port: Int

    /// - Parameters:
    ///   - owner: the owner rights that are granted to the page.
    ///   - settings: more settings of the page's section.
    ///   - persons: sections of others than `me` and `ben`.
    ///   - plugins: more sections; called with a folder that they may use.
    init(
        owner: [String] = ["*"], settings: String = "", persons: String = "", plugins: (String) -> String = { _ in "" }
    ) async throws {
        port = try FreePort.next()
        let path = "/tmp/hub-\(UInt64.random(in: 0 ... .max))"
        host = try HubHost(
            at: path,
            plugins: """
                [person.ben]

                \(persons)
                [plugin.web]
                listen = "127.0.0.1:\(port)"
                grants = { owner = \(owner) }
                \(settings)

                \(plugins(path))
                """)
        hub = try await host.start()
        try await eventually { try await get("/login").status != 0 }
    }

    func command(_ arguments: String...) async throws -> [String] { try await command(arguments) }

    func command(_ arguments: [String]) async throws -> [String] {
        let result = try await host.command(arguments)
        try #require(result.status == 0, "\(arguments): \(result.errors) \(result.lines)")
        return result.lines
    }

    /// The exit status of a command that may fail.
    func status(of arguments: [String]) async throws -> Int { Int(try await host.command(arguments).status) }

    /// The messages of a command beside its result.
    func advice(of arguments: [String]) async throws -> String {
        try await host.command(arguments).errors.joined(separator: "\n")
    }

    /// The present text of `hub.conf`.
    var configuration: String { get throws { try String(contentsOfFile: host.configuration, encoding: .utf8) } }

    /// The folder of the scene, which its plugins may use too.
    var folder: String { host.folder.path }

    /// Changes hub.conf.
    func edit(_ change: (String) -> String) throws {
        let text = try String(contentsOfFile: host.configuration, encoding: .utf8)
        try change(text).write(toFile: host.configuration, atomically: true, encoding: .utf8)
    }

    /// Stops the hub's process, or continues it.
    func freeze(_ isFrozen: Bool) { hub.signal(isFrozen ? SIGSTOP : SIGCONT) }

    /// The result of `hub status --json`.
    func status() async throws -> [String: Any] {
        let line = try await host.command(["status", "--json"]).lines.joined()
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    /// The status of a sink.
    func sink(_ name: String) async throws -> [String: Any]? {
        let sinks = try await status()["sinks"] as? [[String: Any]]
        return sinks?.first { $0["name"] as? String == name }
    }

    /// The value of a hidden field of a page.
    static func field(_ name: String, in page: String) -> String? {
        guard let start = page.range(of: "name=\"\(name)\" value=\"")?.upperBound else { return nil }
        return String(page[start...].prefix { $0 != "\"" })
    }

    /// The text of a page without its markup.
    static func words(_ page: String) -> String {
        page.replacing(/<[^>]*>/, with: " ").replacing("&#39;", with: "'").replacing("&quot;", with: "\"")
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Writes a file into the folder of the scene.
    func write(_ text: String, to name: String) throws -> String { try host.folder.write(text, to: name) }

    /// Publishes records as a plugin with the bridge does, and returns the answers.
    ///
    /// - Parameter lines: JSON, a record in each line.
    @discardableResult
    func publish(_ lines: some Sequence<String>) async throws -> [String] {
        let file = try write(lines.joined(separator: "\n") + "\n", to: "published.jsonl")
        return try await command("bridge", "publish", "--", "cat", file)
    }

    // MARK: - A browser

    typealias Answer = PageClient.Answer

    private var client: PageClient { PageClient(port: port) }

    /// - Parameter socket: the path of the page's socket; nil for its port.
    func get(
        _ path: String, cookie: String? = nil, fields: [String] = [], socket: String? = nil
    ) async throws -> Answer {
        try await client.get(path, cookie: cookie, fields: fields, socket: socket)
    }

    func post(
        _ path: String, _ form: String, cookie: String? = nil, fields: [String] = [], socket: String? = nil
    ) async throws -> Answer {
        try await client.post(path, form, cookie: cookie, fields: fields, socket: socket)
    }

    // MARK: - A log-in

    /// The form token that a browser's scripts make, keep, and send with each form that writes.
    static let formToken = "browser_" + String(repeating: "A", count: 35)

    /// The secret of a link from `hub web`.
    func link(_ person: String? = nil) async throws -> String {
        let lines = try await host.command(["web"] + (person.map { ["--person", $0] } ?? [])).lines
        let link = try #require(lines.first)
        #expect(link.hasPrefix("http://hub-") && link.contains(".localhost:\(port)/login/"))
        return try #require(link.split(separator: "/").last.map(String.init))
    }

    /// The cookie of a new session: `hub=…`.
    func logIn(_ person: String? = nil) async throws -> String {
        let answer = try await post("/login", "link=\(try await link(person))&token=\(Self.formToken)")
        #expect(answer.status == 303 && answer.fields["location"] == "/")
        return try #require(answer.fields["set-cookie"]?.split(separator: ";").first.map(String.init))
    }
}
