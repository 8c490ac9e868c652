import Foundation
import HubProcess
import Testing

/// A hub without `hub.conf` in its own home folder, and a browser on its page.
private final class FirstHub: Sendable {
    private let folder: TemporaryFolder
    private let port: Int
    let process: ChildProcess
    // The hub asks the programs of all plugins before it answers.
    private var client: PageClient { PageClient(port: port, patience: 60) }

    init() async throws {
        (folder, port) = (try TemporaryFolder(), try FreePort.next())
        try FileManager.default.createDirectory(
            atPath: folder.path + "/r", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        process = try Self.start(["run", "--setup-port", "\(port)"], in: folder)
        try await process.line { $0.hasPrefix("hub: set-up: ") }
    }

    private static func start(_ arguments: [String], in folder: TemporaryFolder) throws -> ChildProcess {
        // The folder is also the working directory, so that the project's own hub.conf does not count.
        try ChildProcess(
            "/usr/bin/env", ["-C", folder.path, Programs.path("hub")] + arguments,
            environment: [
                "HOME": folder.path, "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "XDG_RUNTIME_DIR": "\(folder.path)/r",
                "HUB_CONF": "", "TZ": "Europe/Berlin", "NO_COLOR": "1",
            ])
    }

    /// Runs a command of `hub` to its end.
    func hub(_ arguments: String...) async throws -> ChildProcess.Result {
        try await Self.start(arguments, in: folder).result()
    }

    var configuration: String { folder.path + "/.config/health-hub/hub.conf" }
    var listen: String { "127.0.0.1:\(port)" }

    func text(_ path: String? = nil) throws -> String {
        try String(contentsOfFile: path ?? configuration, encoding: .utf8)
    }

    func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: folder.path + path) }

    // MARK: - The browser

    /// The secret of a link from `hub web`.
    func link() async throws -> String {
        let result = try await hub("web")
        let link = try #require(result.output.split(separator: "\n").first, "\(result)")
        #expect(link.hasPrefix("http://hub-") && link.contains(".localhost:\(port)/login/"), "\(result)")
        return try #require(link.split(separator: "/").last.map(String.init))
    }

    func logIn(_ link: String) async throws -> PageClient.Answer {
        try await client.post("/login", "link=\(link)&token=\(Scene.formToken)")
    }

    func get(_ cookie: String?, _ path: String = "/") async throws -> PageClient.Answer {
        try await client.get(path, cookie: cookie)
    }

    func post(
        _ step: String, _ fields: [String: String], _ cookie: String?, token: String = Scene.formToken,
        more: [String] = []
    ) async throws -> PageClient.Answer {
        let all = ["token": token, "step": step].merging(fields) { $1 }
        let body = all.map { name, text in
            "\(name)=\(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }
        return try await client.post("/", body.joined(separator: "&"), cookie: cookie, fields: more)
    }

    /// Sends the answers of a step, which must be taken, and returns the next page.
    func answer(_ step: String, _ fields: [String: String], _ cookie: String?) async throws -> String {
        let answer = try await post(step, fields.merging(["do": "next"]) { $1 }, cookie)
        #expect(answer.status == 303 && answer.fields["location"] == "/", "\(step): \(answer)")
        return try await get(cookie).body
    }
}

/// The first run in a browser, from no `hub.conf` to a hub with a weight.
@Suite(.timeLimit(.minutes(4))) struct FirstSetupTests {
    @Test func `R8.202 R8.203 R8.204 R8.205 the page leads from no hub.conf to a hub that stores a weight`()
        async throws
    {
        let hub = try await FirstHub()
        let before = try await hub.hub("status")
        #expect(before.code == 1 && before.output.contains("there is no \(hub.configuration) yet"), "\(before)")
        try await eventually { try await hub.get(nil).fields["location"] == "/login" }
        let link = try await hub.link()
        let session = try await hub.logIn(link)
        #expect(session.status == 303 && session.fields["location"] == "/", "\(session)")
        let cookie = session.fields["set-cookie"]?.split(separator: ";").first.map(String.init)
        #expect(try await hub.logIn(link).status == 403, "a link is for one browser")
        for path in ["/data", "/setup", "/plugins", "/api/v1/persons", "/metrics"] {
            #expect([404, 401].contains(try await hub.get(cookie, path).status), "\(path)")
        }

        // Another site, another program of this machine, and a wrong answer change nothing.
        let first = try await hub.get(cookie)
        #expect(first.status == 200 && first.body.contains("Who are the people?"), "\(first)")
        let names = ["q-zone": "Europe/Berlin", "q-names": "Jürgen"]
        let wrong = String(Scene.formToken.reversed())
        #expect(try await hub.post("household", names, cookie, token: wrong).status == 403)
        #expect(try await hub.post("household", names, cookie, more: ["Origin: http://evil.example"]).status == 403)
        #expect(try await hub.post("household", names, nil).status == 403)
        let refused = try await hub.post("household", ["q-zone": "Mars", "q-names": "anna"], cookie)
        #expect(refused.status == 422 && refused.body.contains("id=\"q-zone-fault\""), "\(refused)")
        #expect(refused.body.contains("value=\"anna\""), "the typed text stays")
        #expect(try await hub.get(cookie).body.contains("Who are the people?"), "nothing of the form was taken")

        var page = try await hub.answer("household", ["q-zone": "tokyo", "q-names": "Jürgen"], cookie)
        #expect(page.contains("taken as Asia/Tokyo") && page.contains("Jürgen is juergen"), "\(page)")
        #expect(page.contains("id=\"q-juergen.unit\"") && !page.contains("expected_weight"), "\(page)")
        page = try await hub.answer("persons", ["q-juergen.unit": "kg"], cookie)
        #expect(page.contains("name=\"plugin-web\" value=\"yes\" checked"), "\(page)")
        page = try await hub.answer(
            "plugins", ["plugin-web": "yes", "plugin-json-lines": "yes", "plugin-ihealth-hs3": "yes"], cookie)

        // A plugin's program names a setting as the remedy, which is then asked for too.
        #expect(page.contains("id=\"q-link\"") && !page.contains("id=\"q-token\""), "\(page)")
        let scale = "plugin/ihealth-hs3"
        let bridge = ["q-link": "hsl-accept://0.0.0.0:\(try FreePort.next())"]
        let objection = try await hub.post(scale, bridge, cookie)
        #expect(objection.status == 422 && objection.body.contains("id=\"q-token-fault\""), "\(objection)")
        #expect(objection.body.contains("value=\"hsl-accept://0.0.0.0:"))
        let reference = try await hub.post(scale, bridge.merging(["q-token": "${HOME}"]) { $1 }, cookie)
        #expect(reference.status == 422 && reference.body.contains("only the owner may name"), "\(reference)")
        page = try await hub.answer(scale, bridge.merging(["q-token": "apple tree"]) { $1 }, cookie)

        let trial = try await hub.post("plugin/web", ["do": "test", "q-listen": hub.listen, "q-grants": "yes"], cookie)
        #expect(trial.status == 200 && trial.body.contains("It works: The page is at http://\(hub.listen)"), "\(trial)")
        page = try await hub.answer("plugin/web", ["q-listen": hub.listen, "q-grants": "yes"], cookie)
        #expect(page.contains("names a place of this machine") && !page.contains("id=\"q-path\""), "\(page)")
        let place = try await hub.post("plugin/json-lines", ["q-path": "/etc"], cookie)
        #expect(place.status == 422 && place.body.contains("names a place of this machine"), "\(place)")
        page = try await hub.answer("plugin/json-lines", [:], cookie)

        #expect(page.contains(hub.configuration) && page.contains("+ [person.juergen]"), "\(page)")
        #expect(!page.contains("apple tree"))
        #expect(!FileManager.default.fileExists(atPath: hub.configuration))
        let done = try await hub.post("review", ["do": "write"], cookie)
        #expect(done.status == 200 && done.body.contains("This page is away for a moment"), "\(done)")
        #expect(done.body.contains("<code>hub status</code>"))
        try await hub.process.line { $0.hasPrefix("hub: ready: ") }

        let text = try hub.text()
        #expect(text.contains("[person.juergen]\ndisplay_name = \"Jürgen\"") && text.contains("zone = \"Asia/Tokyo\""))
        #expect(text.contains("owner = [\"*\"]") && text.contains("listen = \"\(hub.listen)\""), "\(text)")
        #expect(!text.contains("apple tree"))
        let secret = URL(filePath: hub.configuration).deletingLastPathComponent().appending(
            path: "ihealth-hs3-token.secret"
        ).path
        #expect(try hub.text(secret) == "apple tree\n")
        for file in [hub.configuration, secret] {
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(file)")
        }
        #expect(!hub.isThere("/.local/share/health-hub/setup"))
        #expect(try await hub.hub("check").code == 0)
        let logged = try await hub.hub("log", "weight", "80.4", "--yes")
        #expect(logged.code == 0, "\(logged)")
        // The browser is still logged in, now to all pages.
        try await eventually { try await hub.get(cookie).body.contains("80.4") }
        #expect(try await hub.get(cookie, "/setup").status == 200)
        #expect(await hub.process.stop() == 0)
    }

    @Test func `R8.205 a hub.conf that appears ends the set-up, and the hub starts with it`() async throws {
        let hub = try await FirstHub()
        _ = try await hub.logIn(try await hub.link())
        let setup = try await hub.hub("setup", "--yes")
        #expect(setup.code == 0 && setup.errors.contains("the hub that waits for it starts with it"), "\(setup)")
        try await hub.process.line { $0.hasPrefix("hub: ready: ") }
        let status = try await hub.hub("status")
        #expect(status.code == 0 && status.output.hasPrefix("All well"), "\(status)")
        #expect(!hub.isThere("/.local/share/health-hub/setup"))
        #expect(await hub.process.stop() == 0)
    }

    @Test func `a signal ends a hub without hub.conf in order, and leaves no state of its page`() async throws {
        let hub = try await FirstHub()
        #expect(hub.isThere("/.local/share/health-hub/setup"))
        #expect(await hub.process.stop() == 0)
        #expect(!hub.isThere("/.local/share/health-hub/setup") && !hub.isThere("/.config"))
        let refused = try await hub.hub("run", "--no-setup")
        #expect(refused.code == 66 && refused.errors.contains("there is no hub.conf; looked for"), "\(refused)")
    }
}
