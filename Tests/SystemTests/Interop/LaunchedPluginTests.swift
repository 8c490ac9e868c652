import Foundation
import HubProcess
import Testing

/// The promises of Docs/Protocol.md to authors of plugins that the hub starts, checked with the program of that document.
@Suite(.serialized, .timeLimit(.minutes(5))) struct LaunchedPluginTests {
    /// A hub whose `hub.conf` names the program, and the path of the file that the program reads.
    private static func host() throws -> (host: HubHost, file: String) {
        let path = "/tmp/hub-\(UInt32.random(in: 0 ... .max))"
        let file = "\(path)/weights.txt"
        let host = try HubHost(
            at: path,
            plugins: """
                [plugin.kitchen]
                executable = "hub-weight-file"
                file = "weights.txt"
                every = 1
                """)
        // The program is used as it is, except for a Python that has zmq.
        let text = try ReadmePrograms("Docs/Protocol.md").text("hub-weight-file")
        let first = "#!/usr/bin/env python3\n"
        try #require(text.hasPrefix(first))
        let program = try host.folder.write(
            "#!\(try Tool.python(with: "zmq"))\n" + text.dropFirst(first.count), to: "hub-weight-file")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let conf = try String(contentsOfFile: host.configuration, encoding: .utf8)
        _ = try host.folder.write(conf.replacing("\"hub-weight-file\"", with: "\"\(program)\""), to: "hub.conf")
        return (host, file)
    }

    private static func samples(_ host: HubHost, count: Int) async throws -> [String] {
        var lines: [String] = []
        try await eventually {
            lines = try await host.command("samples", "weight", "--json").lines
            return lines.count >= count
        }
        return lines
    }

    @Test
    func `a plugin in Python that follows the protocol's last chapter is checked, started, stopped and restarted`()
        async throws
    {
        let (host, file) = try Self.host()
        try "2024-03-15T07:30:05+01:00 72.3\n2024-03-16T07:31:00+01:00 72.5\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        let check = try await host.command("check")
        #expect(check.status == 0, "\(check)")
        let hub = try await host.start()
        let first = try await Self.samples(host, count: 2)
        #expect(first.count == 2)
        #expect(first.allSatisfy { $0.contains(#""source":{"plugin":"weight-file"}"#) }, "\(first)")

        let more = try FileHandle(forWritingTo: URL(filePath: file))
        try more.seekToEnd()
        try more.write(contentsOf: Data("2024-03-17T07:29:00+01:00 72.4\n".utf8))
        try more.close()
        #expect(try await Self.samples(host, count: 3).count == 3)

        struct Status: Decodable {
            struct Plugin: Decodable { var name, kind, state: String }
            var plugins: [Plugin]
        }
        let status = try await host.command("status", "--json")
        let plugin = try JSONDecoder().decode(Status.self, from: Data(status.lines.joined().utf8)).plugins[0]
        #expect((plugin.name, plugin.kind, plugin.state) == ("kitchen", "weight-file", "running"))

        let restart = try await host.command("restart", "kitchen")
        #expect(restart.status == 0 && restart.lines == ["kitchen was running and is being ended and started again"])
        try await Self.stopped(host, times: 1)
        // Everything that it gives again is a duplicate.
        try Data("2024-03-18T07:29:00+01:00 72.6\n".utf8).write(to: URL(filePath: file))
        #expect(try await Self.samples(host, count: 4).count == 4)
        #expect(await hub.stop() == 0)
        try await Self.stopped(host, times: 2)
    }

    /// Waits until the plugin has written that it stops: a plugin that a signal ends does not write it.
    private static func stopped(_ host: HubHost, times: Int) async throws {
        try await eventually {
            try await host.command("logs", "kitchen").lines.count { $0.hasSuffix("stopped") } >= times
        }
    }

    @Test func `an error that such a plugin finds in its settings is shown by hub check at its line`() async throws {
        let (host, _) = try Self.host()
        let conf = try String(contentsOfFile: host.configuration, encoding: .utf8)
        _ = try host.folder.write(conf.replacing("\"weights.txt\"", with: "\"away/weights.txt\""), to: "hub.conf")
        let check = try await host.command("check")
        #expect(check.status == 65)
        #expect(
            check.lines.contains {
                $0.contains("[plugin.kitchen] file = \"away/weights.txt\": the folder ")
                    && $0.hasSuffix("/away is not there")
            }, "\(check.lines)")
    }
}
