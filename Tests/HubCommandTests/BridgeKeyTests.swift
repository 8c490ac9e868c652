import Foundation
import HubClient
import HubProcess
import Logging
import PluginKit
import Synchronization
import Testing
import ZeroMQ

@testable import HubCommand

/// Bridges that connect over the network, with a key.
@Suite(.timeLimit(.minutes(2))) struct BridgeKeyTests {
    @Test func `with a key, publish, follow and sink reach a hub on another machine under the name of the key`()
        async throws
    {
        let folder = try TemporaryFolder()
        let hub = try await TestHub(
            """
            tcp = "tcp://127.0.0.1:\(try FreePort.next())"
            [person.me]
            [plugin.far]
            remote = true
            feed_port = \(try FreePort.next())
            grants = { read = ["weight"], write = ["weight"] }
            """, in: folder)
        let made = try await hub.run(["keys", "new", "far"])
        let key = try folder.write(made.output, to: "far.key")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        /// Runs as on another machine: without hub.conf and without sockets.
        func start(_ words: [String], key: String?, input: FileHandle? = nil) throws -> ChildProcess {
            try ChildProcess(
                "/usr/bin/env",
                ["HUB_CONF=/nonexistent", "HUB_KEY=\(key ?? "")", Programs.path("hub"), "bridge"] + words, input: input)
        }
        let file = try folder.write(BridgePublishTests.line(9) + "\n", to: "lines")
        let publish = try start(
            ["publish", "--key", key], key: nil, input: FileHandle(forReadingFrom: URL(filePath: file)))
        let published = await publish.result()
        #expect(published.code == 0 && published.output.contains(#""result":"stored""#), "\(published)")
        #expect(try await hub.run(["samples", "--json"]).output.contains(#""source":{"plugin":"far"}"#))

        let follower = try start(["follow", "weight", "--since", "beginning"], key: key)
        #expect(await follower.lines(count: 1).first?.contains(#""key":"k9""#) == true, "\(follower.errorLines)")
        try hub.give(CareTests.weights(1...2))
        #expect(await follower.lines(count: 3).count == 3)
        follower.signal(SIGTERM)
        #expect(await follower.result().code == 0)

        // The sink does not receive the records that its own instance has given.
        let deliver =
            "while read -r l; do d=${l#*:}; echo \"{\\\"delivery\\\":${d%%,*},\\\"result\\\":\\\"delivered\\\"}\"; done"
        let sink = await (try start(["sink", "--once", "weight", "--", "/bin/sh", "-c", deliver], key: key)).result()
        #expect(sink.code == 0, "\(sink)")
        let status = try await hub.run(["status", "--json"]).output
        #expect(status.contains(#""delivered":2"#), "\(status)")

        let other = await (try start(["publish", "--as", "kitchen"], key: key)).result()
        #expect(other.code == 64 && other.errors.contains("belongs to far; use that name, or none"), "\(other)")
        #expect(try await hub.run(["keys", "revoke", "far"]).code == 0)
        // A sink whose answers end, as those of a file do, may end before it learns that it is refused.
        for words in [["publish"], ["follow"], ["sink", "weight", "--", "/bin/cat"]] {
            let input = FileHandle(forReadingAtPath: file)
            let refused = await (try start(words, key: key, input: input)).result()
            #expect(refused.code == 77, "\(words) \(refused)")
        }
    }

    @Test func `the log of a failed session calls a bridge a bridge`() async throws {
        struct Kept: LogHandler {
            let lines: AwaitableValue<[String]>
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.info
            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }
            func log(event: LogEvent) { lines.change { $0.append("\(event.message)") } }
        }
        struct Trouble: Error {}
        let hub = try await TestHub()
        let lines = AwaitableValue<[String]>([])
        let context = try Context()
        var runner = BridgeSession(address: HubAddress(door: hub.endpoints.door), name: "kitchen").runner(
            .once, context)
        runner.logger = Logger(label: "test") { _ in Kept(lines: lines) }
        let exit = await runner.run(state: nil, requests: AsyncStream.makeStream().stream) { _ in throw Trouble() }
        #expect(exit == .failed)
        #expect(lines.value.contains("the bridge failed"), "\(lines.value)")
    }
}
