import Foundation
import HubProcess
import Platform
import Testing

@testable import PluginCommand

@Suite(.timeLimit(.minutes(2))) struct CatalogueTests {
    private let host: HubHost
    private var folder: String { host.folder.path + "/packs" }

    init() throws {
        host = try HubHost()
        try Folder.make(folder)
    }

    private func run(_ arguments: String...) async throws -> (status: Int, lines: [String], errors: [String]) {
        try await host.command(["plugin"] + arguments)
    }

    private func fill() async throws {
        for version in ["1.9", "1.10", "1.2"] {
            let plugin = try SmallPlugin(version: version)
            let made = try await run("pack", plugin.folder.path, "--index", folder)
            try #require(made.status == 0, "\(made)")
        }
    }

    @Test func `R16.30 a catalogue can be searched, and its newest pack installed by name`() async throws {
        try await fill()
        let found = try await run("search", "WEIGHT", "--catalogue", folder)
        #expect(found.status == 0 && found.lines.count == 2 && found.lines[0].hasPrefix("small 1.10  "), "\(found)")
        #expect(try await run("search", "nothing", "--catalogue", folder).status == 1)
        #expect(try await run("search", "--catalogue", host.folder.path).status == 66)
        #expect(try await run("search").status == 64)
        let shown = try await run("install", "small", "--catalogue", "\(folder)/catalogue.json", "--dry-run")
        #expect(shown.status == 0 && shown.lines.first == "small 1.10", "\(shown)")
        #expect(try await run("install", "small@1.2", "--catalogue", folder, "--dry-run").lines.first == "small 1.2")
        let absent = try await run("install", "small@7", "--catalogue", folder, "--dry-run")
        #expect(absent.status == 65 && absent.errors.joined().contains("1.2, 1.9, 1.10"), "\(absent)")
    }

    @Test func `R16.30 a pack that differs from its catalogue entry is refused`() async throws {
        try await fill()
        let other = try SmallPlugin(version: "1.10", more: ["evil": ""])
        #expect(try await run("pack", other.folder.path, "--in", folder).status == 0)
        let refused = try await run("install", "small", "--catalogue", folder, "--dry-run")
        #expect(refused.status == 65 && refused.errors.joined().contains("another pack than its catalogue says"))
    }

    @Test(arguments: [
        #"{"catalogue":2,"plugins":[]}"#, #"{"catalogue":1}"#, "[]", "",
        #"{"catalogue":1,"plugins":[{"name":"../x","version":"1","summary":"","file":"x","bytes":1,"sha256":"","reads":[],"writes":[],"reaches":[]}]}"#,
        #"{"catalogue":1,"plugins":[{"name":"x","version":"1","summary":"","file":"../x","bytes":1,"sha256":"","reads":[],"writes":[],"reaches":[]}]}"#,
    ]) func `a file that is not a catalogue is refused`(_ text: String) {
        #expect(throws: PluginError.self) { try Catalogue(Array(text.utf8)) }
    }

    /// A web server for one test: files of a folder; `/moved/` redirects there, `/endless/` has no end, `/plain/`
    /// redirects to http elsewhere.
    private static let server = """
        import http.server, os, sys
        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                if self.path.startswith('/moved/'):
                    self.send_response(302); self.send_header('Location', self.path[6:]); self.end_headers()
                elif self.path.startswith('/plain/'):
                    self.send_response(302); self.send_header('Location', 'http://192.0.2.1/x'); self.end_headers()
                elif self.path.startswith('/circle/'):
                    self.send_response(302); self.send_header('Location', self.path); self.end_headers()
                elif self.path.startswith('/endless/'):
                    self.send_response(200); self.end_headers()
                    try:
                        while True: self.wfile.write(b' ' * 65536)
                    except OSError: pass
                else: super().do_GET()
            def log_message(self, *words): pass
        os.chdir(sys.argv[1])
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """

    @Test(.enabled(if: Need.python.isMet, "\(Need.python.reason)"))
    func `R16.31 a catalogue from a web server is read up to a limit, and redirects without https are refused`()
        async throws
    {
        try await fill()
        let script = try host.folder.write(Self.server, to: "server.py")
        let server = try ChildProcess("/usr/bin/env", ["python3", script, folder])
        let port = try #require(await server.lines(count: 1) { _ in true }.first)
        let address = "http://127.0.0.1:\(port)"
        let found = try await run("search", "--catalogue", address)
        #expect(found.status == 0 && found.lines.count == 2, "\(found)")
        #expect(try await run("install", "small", "--catalogue", "\(address)/moved/", "--dry-run").status == 0)
        #expect(try await run("install", "\(address)/small-1.9.hubplugin", "--dry-run").lines.first == "small 1.9")
        #expect(try await run("install", "\(address)/small-2.hubplugin", "--dry-run").status == 66)
        for (path, words) in [
            ("plain", "expected https"), ("circle", "one address to the next"), ("endless", "larger"),
        ] {
            let refused = try await run("search", "--catalogue", "\(address)/\(path)")
            #expect(refused.status >= 65 && refused.errors.joined().contains(words), "\(refused)")
        }
        await server.killAndWait()
    }
}
