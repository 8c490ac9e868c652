import Foundation
import HubProcess
import Testing

@testable import PluginCommand

/// `hub plugin play`: a good client passes every play, and each play finds its fault.
@Suite(.timeLimit(.minutes(3))) struct PlayTests {
    /// Programs of a client, which may use the library for Python.
    private struct Desk {
        let folder: TemporaryFolder

        init(_ name: String, _ text: String) throws {
            folder = try TemporaryFolder()
            try folder.write(text, to: name)
        }

        func play(_ arguments: String..., client: String?, patience: Int = 10) async throws -> ChildProcess.Result {
            let library = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Clients/Python")
            var command = ["plugin", "play"] + arguments + ["--patience", "\(patience)"]
            if let client { command += ["--", try Tool.python(with: "zmq"), "\(folder.path)/\(client)"] }
            return try await ChildProcess("hub", command, environment: ["PYTHONPATH": library.standardizedFileURL.path])
                .result()
        }
    }

    private static let follower = """
        from health_hub import Hub
        with Hub() as hub:
            for change in hub.follow(["weight"]):
                if change.record is not None:
                    print(change.place, flush=True)
        """
    private static let sink = """
        from health_hub import Hub
        with Hub() as hub:
            hub.sink({"want": "all", "types": ["weight"], "start": "beginning"},
                     lambda records: [{"result": "delivered", "receipt": str(r["number"])} for r in records])
            hub.serve()
        """
    /// A publisher without a library and without faults.
    private static let publisher = """
        import json, os, sys, time, zmq
        records = [json.loads(line) for line in sys.stdin]
        door = zmq.Context().socket(zmq.DEALER)
        door.connect(os.environ["HUB_DOOR"])
        def say(verb, body): door.send_multipart([verb, json.dumps(body).encode()])
        def hello(): say(b"HELLO", {"protocol": [1], "instance": "client", "plugin": "client", "version": "1"})
        hello()
        credit, done, size = 0, 0, 0
        while done < len(records):
            if not door.poll(700):
                say(b"PING", {})
                continue
            verb, body = door.recv_multipart()
            body = json.loads(body)
            if verb == b"PING":
                say(b"PONG", body)
            elif verb == b"ERROR" and body["code"] == "forbidden":
                sys.exit(77)
            elif verb == b"ERROR" and body["code"] == "hello-first":
                hello()
            elif verb == b"WELCOME" or verb == b"ERROR":
                if verb == b"ERROR":
                    time.sleep(body.get("after", 0) / 1000)
                credit = body["credit"]["records"] if verb == b"WELCOME" else size
                size = min(credit, len(records) - done, 50)
                say(b"SAMPLES", {"batch": done + 1, "records": records[done:done + size]})
            elif verb == b"STORED":
                done += size
                size = min(credit, len(records) - done, 50)
                if size:
                    say(b"SAMPLES", {"batch": done + 1, "records": records[done:done + size]})
        say(b"BYE", {})
        door.recv_multipart()
        """

    @Test(.enabled(if: Need.pyzmq.isMet, "\(Need.pyzmq.reason)"))
    func `the programs of Docs/Clients.md with the library for Python pass every play`() async throws {
        let programs = try ReadmePrograms(mark: "play")
        #expect(programs.names == ["give.py", "lost.play"])
        let publishing = try Desk("give.py", programs.text("give.py"))
        let script = try publishing.folder.write(programs.text("lost.play"), to: "lost.play")
        let (following, delivering) = (try Desk("follow.py", Self.follower), try Desk("sink.py", Self.sink))
        async let given = publishing.play("publisher", client: "give.py")
        async let followed = following.play("follower", client: "follow.py")
        async let delivered = delivering.play("sink", client: "sink.py")
        async let written = publishing.play("--script", script, client: "give.py")
        let results: [(Play.Role, ChildProcess.Result)] = try await [
            (.publisher, given), (.follower, followed), (.sink, delivered),
        ]
        for (role, result) in results {
            let count = Play.all.count { $0.role == role }
            #expect(result.code == 0, "\(result)")
            #expect(result.output.contains("All of \(count) plays held.\n"), "\(result)")
            #expect(!result.output.contains("FAILED"))
        }
        let own = try await written
        #expect(own.code == 0 && own.output.contains("held       all lines\n"), "\(own)")
    }

    @Test(.enabled(if: Need.pyzmq.isMet, "\(Need.pyzmq.reason)"))
    func `R5.5 publish.py of Docs/Clients.md repeats its batch after a full disk, once the time in after is over`()
        async throws
    {
        let desk = try Desk("publish.py", try ReadmePrograms().text("publish.py"))
        let script = try desk.folder.write("fail 3\nwait records 3\nexit 0\nexpect violations 0\n", to: "full.play")
        let result = try await desk.play("--script", script, client: "publish.py")
        #expect(result.code == 0 && result.output.contains("held       all lines\n"), "\(result)")
    }

    /// Changes to the good publisher, and the plays that find them.
    private static let faults: [(plays: Set<String>, old: String, new: String)] = [
        ([], "hello()\ncredit", "hello()\ncredit"),
        (["forgotten", "killed", "answer-lost"], #"        say(b"PING", {})"#, "        pass"),
        (["little-credit"], "min(credit, len(records) - done, 50)", "min(len(records) - done, 50)"),
        (["full-disk"], "else size", "else sys.exit(1)"),
        (["full-disk"], #"time.sleep(body.get("after", 0) / 1000)"#, "pass"),
        (["refused"], #"body["code"] == "forbidden""#, #"body["code"] == "never""#),
        (
            ["answer-lost"], "records = [json.loads(line) for line in sys.stdin]",
            "import uuid\nrecords = [json.loads(line) for line in sys.stdin]\n"
                + "def fresh(rs): return [{**r, \"key\": uuid.uuid4().hex} for r in rs]"
        ),
        (["newer-hub"], "    body = json.loads(body)", "    body = json.loads(body)\n    assert \"later\" not in body"),
    ]

    @Test(.enabled(if: Need.pyzmq.isMet, "\(Need.pyzmq.reason)"))
    func `a publisher with a fault fails only the plays for that fault`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for fault in Self.faults {
                try #require(Self.publisher.contains(fault.old), "\(fault.old)")
                var text = Self.publisher.replacing(fault.old, with: fault.new)
                if fault.new.contains("fresh") {
                    text = text.replacing("\"records\": records[", with: "\"records\": fresh(records)[")
                }
                let desk = try Desk("client.py", text)
                group.addTask {
                    // All plays if none is to fail; otherwise the failing ones and one that passes.
                    let names =
                        fault.plays.isEmpty ? "publisher" : (fault.plays.sorted() + ["plain"]).joined(separator: ",")
                    let result = try await desk.play(
                        names, "--json", client: "client.py", patience: fault.plays.isEmpty ? 10 : 4)
                    let lines = try result.output.split(separator: "\n").map {
                        try JSONDecoder().decode(Line.self, from: Data($0.utf8))
                    }
                    #expect(Set(lines.filter { !$0.held }.map(\.play)) == fault.plays, "\(fault.new): \(result)")
                    #expect(lines.count == (fault.plays.isEmpty ? 10 : fault.plays.count + 1))
                    #expect(lines.allSatisfy { $0.held || $0.seen?.isEmpty == false && $0.line != nil })
                    #expect(result.code == (fault.plays.isEmpty ? 0 : 1))
                }
            }
            try await group.waitForAll()
        }
    }

    private struct Line: Decodable {
        var play: String
        var held: Bool
        var line: String?
        var seen: [String]?
    }

    @Test(.enabled(if: Need.pyzmq.isMet, "\(Need.pyzmq.reason)"))
    func `a follower that relies on the feed alone fails at a hole, and one that takes a restore for a record fails`()
        async throws
    {
        let feedOnly = try Desk(
            "client.py",
            """
            import os, zmq
            feed = zmq.Context().socket(zmq.SUB)
            feed.subscribe("sample/weight/")
            feed.connect(os.environ["HUB_FEED"])
            while True:
                print(feed.recv_multipart()[1], flush=True)
            """)
        let result = try await feedOnly.play("hole", client: "client.py", patience: 2)
        #expect(result.code == 1 && result.output.contains("at:   wait printed 3"), "\(result)")
        let forgetful = try Desk("client.py", Self.follower.replacing("change.record is not None", with: "True"))
        let restored = try await forgetful.play("restored", client: "client.py", patience: 4)
        #expect(restored.code == 1 && restored.output.contains("and not 21"), "\(restored)")
    }

    @Test func `without plays the command runs typed lines and reports those that are invalid`() async throws {
        let typed = Pipe()
        try typed.fileHandleForWriting.write(
            contentsOf: Data("give 2\n# nothing\ngive x\nwhat\nexpect records 2\nexpect records 3\n".utf8))
        try typed.fileHandleForWriting.close()
        let result = try await ChildProcess("hub", ["plugin", "play"], input: typed.fileHandleForReading).result()
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(result.code == 0, "\(result)")
        #expect(lines[0].hasPrefix("A client finds it so: export HUB_DOOR=ipc:///tmp/hub-play-"), "\(lines)")
        let said = lines.filter { ["done", "fail", "refu"].contains($0.prefix(4)) }
        #expect(
            said.map { String($0.prefix(60)) }
                == [
                    "done       give 2", "refused    \"give x\": x is not a number from 0 to 1000000",
                    "refused    \"what\": there is no such line; there are forget, s", "done       expect records 2",
                    "failed     expect records 3: records: 2, and not 3",
                ].map { String($0.prefix(60)) })
        let folder = lines[0].components(separatedBy: "ipc://")[1].components(separatedBy: "/door")[0]
        #expect(!FileManager.default.fileExists(atPath: folder), "the folder is removed")
    }

    @Test func `an unknown play, an invalid script and a missing program are reported`() async throws {
        let folder = try TemporaryFolder()
        let script = try folder.write("silent\n\nwait weights 3\n", to: "x.play")
        for (arguments, code, words) in [
            (["none", "--", "x"], 64, "there is no play none; hub plugin play --list shows them"),
            (["killed"], 64, "Say after -- how the client is started: hub plugin play killed -- ./client"),
            (["--", "x"], 64, "Name plays, or publisher, follower or sink, before --."),
            (["--script", script], 65, "line 3: \"wait weights 3\": weights is not counted; hellos, queries"),
            (["plain", "--", "/none/such"], 65, "/none/such: there is no such program that can be executed"),
            (["plain", "--", "no-such"], 65, "no-such: there is no such program that can be executed"),
            (["--script", "/none"], 65, "--script /none: there is no such file"),
        ] as [([String], Int32, String)] {
            let result = try await Programs.hub(["plugin", "play"] + arguments)
            #expect(result.code == code && result.errors.contains(words), "\(arguments): \(result)")
        }
    }
}
