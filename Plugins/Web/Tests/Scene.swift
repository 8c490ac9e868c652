import Foundation
import Glibc
import HubProcess
import Testing

/// A hub with the page, and the browsers that come to it: curl, which does what it is told and nothing else.
final class Scene: Sendable {
    private let host: HubHost
    private let hub: ChildProcess
    let port: Int

    /// - Parameters:
    ///   - settings: of the page, and sections behind it.
    ///   - owner: what of the owner's it may.
    init(settings: String = "", owner: String = #"["status"]"#) async throws {
        port = try FreePort.next()
        host = try HubHost(
            plugins: """
                [person.ben]

                [plugin.web]
                listen = "127.0.0.1:\(port)"
                grants = { owner = \(owner) }
                \(settings)
                """)
        hub = try await host.start()
        while try await curl(["/login"]).status == 0 {}
    }

    func command(_ arguments: String...) async throws -> [String] {
        let result = try await host.command(arguments)
        try #require(result.status == 0, "\(arguments): \(result.errors) \(result.lines)")
        return result.lines
    }

    /// The text of `hub.conf`, as it is now.
    var configuration: String { get throws { try String(contentsOfFile: host.configuration, encoding: .utf8) } }

    /// A file in a folder of the scene's own.
    func write(_ text: String, to name: String) throws -> String { try host.folder.write(text, to: name) }

    // MARK: - A browser

    struct Answer {
        /// 0: none came.
        var status = 0
        var fields: [String: String] = [:]
        var body = ""
    }

    /// - Parameter arguments: the last is the path.
    private func curl(_ arguments: [String]) async throws -> Answer {
        let words =
            ["curl", "-s", "-i", "--max-time", "20"] + arguments.dropLast() + [
                "http://127.0.0.1:\(port)\(arguments.last ?? "/")"
            ]
        let result = try await ChildProcess("/usr/bin/env", words).result()
        guard let end = result.output.range(of: "\r\n\r\n") else { return Answer() }
        let lines = result.output[..<end.lowerBound].components(separatedBy: "\r\n")
        var answer = Answer(
            status: Int(lines[0].split(separator: " ")[1]) ?? 0, body: String(result.output[end.upperBound...]))
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            answer.fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        return answer
    }

    func get(_ path: String, cookie: String? = nil, fields: [String] = []) async throws -> Answer {
        try await curl(Self.words(cookie, fields) + ["--path-as-is", path])
    }

    func post(_ path: String, _ form: String, cookie: String? = nil, fields: [String] = []) async throws -> Answer {
        try await curl(Self.words(cookie, fields) + ["-d", form, path])
    }

    private static func words(_ cookie: String?, _ fields: [String]) -> [String] {
        (fields + (cookie.map { ["Cookie: \($0)"] } ?? [])).flatMap { ["-H", $0] }
    }

    // MARK: - A log-in

    /// The secret of a link that `hub web` makes.
    func link(_ person: String? = nil) async throws -> String {
        let lines = try await host.command(["web"] + (person.map { ["--person", $0] } ?? [])).lines
        let link = try #require(lines.first)
        #expect(link.hasPrefix("http://127.0.0.1:\(port)/login/"))
        return try #require(link.split(separator: "/").last.map(String.init))
    }

    /// The cookie of a new session: `hub=…`.
    func logIn(_ person: String? = nil) async throws -> String {
        let answer = try await post("/login", "link=\(try await link(person))")
        #expect(answer.status == 303 && answer.fields["location"] == "/")
        return try #require(answer.fields["set-cookie"]?.split(separator: ";").first.map(String.init))
    }
}
