import Foundation
import HubClient
import HubProcess
import HubWire
import Testing
import ZeroMQ

@testable import HubCommand

/// A hub with a plugin that writes escape sequences into every text it can; the output of each `hub` command about it.
@Suite(.timeLimit(.minutes(3))) struct HostileTests {
    private static let hostile = PlainTextTests.hostile

    /// A plugin that prints its manifest or the hostile text and exits; the test runs its session.
    private static func program(in folder: TemporaryFolder) throws -> String {
        // The hub expects one line here.
        let bad = try JSON.line(String(hostile.filter { !$0.isNewline }))
        let manifest =
            #"{"name":"evil","summary":\#(bad),"version":"1","writes":["*"],"commands":[{"name":"shout","help":\#(bad),"arguments":[]}]}"#
        try folder.write("\(manifest)\n", to: "manifest")
        try folder.write("\(hostile)\n", to: "words")
        let script =
            "#!/bin/sh\ncase \"$1\" in --describe) cat \(folder.path)/manifest ;; *) cat \(folder.path)/words; exit 78 ;; esac\n"
        return try folder.write(script, to: "hub-evil", isProgram: true)
    }

    /// Answers every command until it is ended: one outcome is done, the next is failed.
    private final class Session: Sendable {
        private let isOver = AwaitableValue(false)
        private let thread: DispatchGroup

        init(_ endpoint: String) throws {
            let bad = try JSON.line(HostileTests.hostile)
            let (isOver, thread) = (isOver, DispatchGroup())
            self.thread = thread
            let ready = DispatchSemaphore(value: 0)
            let problem = AwaitableValue<String?>(nil)
            thread.enter()
            Thread {
                defer { thread.leave() }
                do { try HostileTests.talk(endpoint, bad, isOver) { ready.signal() } } catch {
                    problem.change { $0 = "\(error)" }
                    ready.signal()
                }
            }.start()
            ready.wait()
            if let problem = problem.value { throw Failure(.dialogue, problem) }
        }

        func end() {
            isOver.change { $0 = true }
            thread.wait()
        }
    }

    private static func talk(_ endpoint: String, _ bad: String, _ isOver: AwaitableValue<Bool>, _ ready: () -> Void)
        throws
    {
        let socket = try Socket(.dealer, in: try Context())
        try socket.set(.linger, to: .milliseconds(200))
        try socket.connect(endpoint)
        func send(_ verb: String, _ body: String) throws {
            var message = Multipart()
            message.append(verb)
            message.append(body)
            try #require(try socket.sendMultipart(message) == .sent)
        }
        func receive(upTo limit: Duration) throws -> (verb: String, body: String)? {
            guard try socket.wait(for: .readable, upTo: limit).contains(.readable) else { return nil }
            var message = Multipart()
            _ = try socket.receiveMultipart(into: &message)
            return (message.text(of: 0) ?? "", message.text(of: 1) ?? "")
        }
        try send(
            "HELLO", #"{"protocol":[1],"instance":"evil","plugin":"evil","version":"1","writes":["*"],"reads":["*"]}"#)
        let welcome = try receive(upTo: .seconds(10))
        try #require(welcome?.verb == "WELCOME", "\(welcome?.body ?? "nothing")")
        let time = #""start":"2026-03-15T07:30:05Z""#
        try send(
            "SAMPLES",
            #"{"batch":1,"records":[{"type":"stateOfMind","value":\#(bad),\#(time),"key":"a"},{"type":"weight","value":80,"unit":"kg",\#(time),"key":"b","subject":{"name":"guest"}},{"type":"weight","value":80.25,"unit":"kg",\#(time),"key":"c","metadata":{"note":\#(bad)}},{"kind":"retraction","key":"b","reason":\#(bad)}]}"#
        )
        let stored = try receive(upTo: .seconds(10))
        try #require(stored?.verb == "STORED" && stored?.body.contains("rejected") == false, "\(stored?.body ?? "")")
        try send("EVENT", #"{"event":"error","device":"d1","severity":"error","text":\#(bad),"data":{"x":[\#(bad)]}}"#)
        try send("EVENT", #"{"event":"error","severity":"error","text":\#(bad)}"#)
        try send("TOKEN", #"{"id":9,"account":"me","for":"release","failure":"auth","reason":\#(bad)}"#)
        let release = try receive(upTo: .seconds(10))
        try #require(release?.verb == "TOKEN", "\(release?.body ?? "nothing")")
        ready()
        var count = 0
        while !isOver.value {
            guard let message = try receive(upTo: .milliseconds(100)) else {
                // Sent repeatedly, because a subscriber may have come late.
                try send("LIVE", #"{"type":"weight","value":72.1,"unit":"kg","note":\#(bad)}"#)
                try send("EVENT", #"{"event":"connected","device":"d1","severity":"info","text":\#(bad)}"#)
                continue
            }
            switch message.verb {
            case "PING": try send("PONG", message.body)
            case "COMMAND":
                count += 1
                let id = try JSON.decode([String: RawNumber].self, from: message.body.utf8)["id"]?.value ?? 0
                try send("PROGRESS", #"{"id":\#(id),"done":1,"text":\#(bad)}"#)
                try send(
                    "OUTCOME",
                    count % 2 == 1
                        ? #"{"id":\#(id),"outcome":"done","result":{"said":\#(bad),"list":[{"a":\#(bad)}]}}"#
                        : #"{"id":\#(id),"outcome":"failed","code":"own","reason":\#(bad)}"#)
            default: break
            }
        }
        try send("BYE", "{}")
    }

    /// A member of any type.
    private struct RawNumber: Decodable {
        var value: Int64?
        init(from decoder: any Decoder) throws { value = try? decoder.singleValueContainer().decode(Int64.self) }
    }

    @Test func `no output of hub lets a plugin control the terminal, and JSON output remains JSON`() async throws {
        let folder = try TemporaryFolder()
        let hub = try await TestHub(
            """
            [person.me]
            unit = "lb"
            [plugin.evil]
            executable = "\(try Self.program(in: folder))"
            grants = { read = ["weight"], write = ["weight", "stateOfMind"] }

            """)
        try await hub.succeed(["check"])
        var plugins: [Status.Plugin] = []
        // Its program has failed for good; only then may a session be opened by hand under its name.
        try await eventually {
            let status = try await hub.run(["status", "--json"]).output
            plugins = try JSON.decode(Status.self, from: status.utf8).plugins
            return plugins.first?.state == "failed"
        }
        let tap = try hub.start(["tap", "--since", "0", "--count", "3"])
        let live = try hub.start(["tap", "live/", "device/", "--count", "4"])
        let session = try Session(hub.endpoints.door)
        defer { session.end() }
        let commands: [[String]] = [
            ["samples"], ["inbox"], ["trace", "1"], ["trace", "2"], ["trace", "3"], ["status"], ["device"], ["plugins"],
            ["plugins", "evil"], ["do", "evil"], ["do", "evil", "shout"], ["do", "evil", "shout"],
            ["device", "evil", "shout"], ["logs", "evil"], ["edit", "3", "80kg", "--note", Self.hostile],
            ["retract", "1", "--dry-run"], ["retract", "1", "--yes", "--reason", Self.hostile], ["trace", "1"],
            ["samples", Self.hostile], ["log", "weight", Self.hostile], ["do", "evil", Self.hostile], ["doctor"],
        ]
        for command in commands {
            let said = try await hub.run(command)
            for line in said.output.split(separator: "\n") + said.errors.split(separator: "\n") {
                #expect(PlainTextTests.isHarmless(line), "\(command): \(line)")
                #expect(line != "forged" && !line.hasPrefix("forged "), "\(command)")
            }
        }
        let shown = [
            "samples": try await hub.run(["samples"]), "status": try await hub.run(["status"]),
            "logs": try await hub.run(["logs", "evil"]), "inbox": try await hub.run(["inbox"]),
        ]
        #expect(shown["samples"]?.output.contains("176.4 lb") == true, "\(shown)")
        #expect(shown["status"]?.output.contains(#"a\u001b[2J"#) == true, "\(shown)")
        for command in [
            ["samples"], ["trace", "3"], ["status"], ["plugins"], ["do", "evil"], ["device"], ["logs", "evil"],
        ] {
            let said = try await hub.run(command + ["--json"])
            for line in said.output.split(separator: "\n") {
                #expect(RawJSON(String(line)) != nil, "\(command): \(line)")
                // Also through a pipe, because its reader often writes to a terminal.
                #expect(PlainTextTests.isHarmless(line), "\(command): \(line)")
            }
            #expect(!said.output.isEmpty, "\(command)")
        }
        for (listener, told) in [(tap, "#1"), (live, "159.0 lb")] {
            let heard = await listener.result().output
            #expect(heard.contains(told), "\(heard)")
            for line in heard.split(separator: "\n") { #expect(PlainTextTests.isHarmless(line), "\(line)") }
        }
    }

    private struct Status: Decodable {
        struct Plugin: Decodable { var state: String }
        var plugins: [Plugin]
    }
}
