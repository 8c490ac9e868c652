import Foundation
import HubProcess
import Platform
import Testing

@testable import HubStore

/// The promises of Docs/Clients.md to authors of clients, checked with the programs of that document.
@Suite(.serialized) struct ReadmeTests {
    private let programs: ReadmePrograms

    init() throws { programs = try ReadmePrograms() }

    @Test func `The document has the five programs`() throws {
        #expect(programs.names == ["follow.py", "publish.py", "remote.py", "steps.py", "subscribe.py"])
    }

    @Test func `A batch published in Python is stored, and a second time a duplicate`() async throws {
        let host = try HubHost()
        let hub = try await host.start()
        let first = try programs.start("publish.py", in: host)
        #expect(await first.waitForExit() == 0)
        let stored = await first.lines(count: 3)
        #expect(stored == ["20260315T063005Z stored 1", "20260316T063100Z stored 2", "20260316T063100Z fat stored 3"])

        let second = try programs.start("publish.py", in: host)
        #expect(await second.waitForExit() == 0)
        #expect(await second.lines(count: 3).allSatisfy { $0.contains(" duplicate ") })

        let samples = try await host.command("samples", "weight", "--json")
        #expect(samples.status == 0)
        #expect(samples.lines.count == 2)
        #expect(
            samples.lines.last?.contains(#""value":72.5747792,"unit":"kg","original":{"value":160,"unit":"lb"}"#)
                == true)
        #expect(await hub.stop() == 0)
    }

    /// The text of `publish.py` with other records, which are Python code, and with other changes of its lines.
    private func publisher(_ records: String, _ changes: (String, String)...) throws -> String {
        var text = try programs.text("publish.py")
        for (line, other) in changes + [("door = zmq", "BATCH[\"records\"] = \(records)\ndoor = zmq")] {
            try #require(text.contains(line), "publish.py has no \(line)")
            text = text.replacing(line, with: other)
        }
        return text
    }

    /// Records of weights with these numbers, as Python code.
    private static func weights(_ numbers: Range<Int>) -> String {
        "[dict(BATCH['records'][0], value=20 + n % 300, key=f'k{n}') for n in range(\(numbers.lowerBound), \(numbers.upperBound))]"
    }

    private func publish(_ numbers: Range<Int>, in host: HubHost) async throws {
        let file = try host.folder.write(publisher(Self.weights(numbers)), to: "publish.py")
        let publisher = try ChildProcess(try Tool.python(with: "zmq"), [file], environment: host.environment)
        #expect(await publisher.waitForExit() == 0, "\(publisher.errorLines)")
    }

    @Test func `A Python program reads days of steps over several pages, phone and watch together and each alone`()
        async throws
    {
        let host = try HubHost(plugins: "[priority.steps]\nsources = [\"watch\"]\n")
        let hub = try await host.start()
        func give(_ plugin: String, _ key: String, _ day: String, _ value: Int) async throws {
            let record =
                "{'type': 'stepCount', 'value': \(value), 'unit': 'count', 'start': '\(day)T10:00:00+01:00', 'end': '\(day)T11:00:00+01:00', 'key': '\(key)'}"
            let text = try publisher("[\(record)]", (#""plugin": "kitchen-script""#, "\"plugin\": \"\(plugin)\""))
            let program = try ChildProcess(
                try Tool.python(with: "zmq"), [try host.folder.write(text, to: "\(plugin).py")],
                environment: host.environment)
            #expect(await program.waitForExit() == 0, "\(program.errorLines)")
        }
        try await give("phone", "a", "2026-01-10", 500)
        try await give("watch", "a", "2026-01-10", 600)
        try await give("phone", "b", "2026-01-12", 70)
        let asking = try programs.start("steps.py", in: host)
        #expect(await asking.waitForExit() == 0, "\(asking.errorLines)")
        #expect(
            await asking.allLines() == [
                "2026-01-10T00:00:00+01:00 600 {'watch': 600, 'phone': 500}", "2026-01-11T00:00:00+01:00 None {}",
                "2026-01-12T00:00:00+01:00 70 {'phone': 70}",
            ])
        // By hour, the answer is longer than a page.
        try await give("phone", "c", "2026-03-10", 7)
        let byHour = try programs.text("steps.py").replacing(#""unit": "day""#, with: #""unit": "hour""#)
        let hours = try ChildProcess(
            try Tool.python(with: "zmq"), [try host.folder.write(byHour, to: "hours.py")], environment: host.environment
        )
        #expect(await hours.waitForExit() == 0, "\(hours.errorLines)")
        let lines = await hours.allLines()
        #expect(lines.count == 59 * 24 + 1 && Set(lines).count == lines.count)
        #expect(await hub.stop() == 0)
    }

    @Test(arguments: [true, false])
    func `R4.30 a thousand records reach a hub once each after it was away for half a minute`(isOurs: Bool) async throws
    {
        let host = try HubHost()
        // The waits are shortened: half a minute is fifteen turns of the program, which prints a line for each.
        let turn = (
            #"say(b"PING", {})"#,
            #"say(b"\#(isOurs ? "PING" : "HELLO")", \#(isOurs ? "{}" : "HELLO")); print("away", flush=True)"#
        )
        let patience = ("2.0 if again is None", "(0.02 if session is None else 10) if again is None")
        // A naive client sends HELLO at each turn, and its batch at each WELCOME.
        let session = (#"if body["session"] != session:"#, isOurs ? #"if body["session"] != session:"# : "if True:")
        let file = try host.folder.write(publisher(Self.weights(0..<1_000), turn, patience, session), to: "publish.py")
        let publisher = try ChildProcess(try Tool.python(with: "zmq"), [file], environment: host.environment)
        #expect(await publisher.lines(count: 15).count >= 15)
        let hub = try await host.start()
        #expect(await publisher.waitForExit() == 0, "\(publisher.errorLines)")
        #expect(await publisher.allLines().count { $0.contains(" stored ") } == 1_000)
        #expect(try await host.command("samples", "weight", "--json").lines.count == 1_000)
        #expect(await hub.stop() == 0)
    }

    @Test func `R7.9 after a restore a running follower has exactly the records of the restored store`() async throws {
        let host = try HubHost()
        var hub = try await host.start()
        let follower = try programs.start("follow.py", in: host)
        try await publish(0..<20, in: host)
        #expect(try await host.command("backup", "\(host.folder.path)/b.sqlite").status == 0)
        try await publish(20..<40, in: host)
        #expect(await follower.lines(count: 40).count == 40)
        #expect(await hub.stop() == 0)
        #expect(try await host.command("restore", "\(host.folder.path)/b.sqlite", "--yes").status == 0)
        hub = try await host.start()
        // At once, before a pulse can announce the new epoch: numbers 21 to 50 occur for the second time.
        try await publish(100..<130, in: host)
        let lines = await follower.lines(count: 90)
        let heard = [String](lines.dropFirst(40))
        #expect(heard.count == 50 && Set(heard).count == 50)
        let expected = (0..<50).map { n in "\(n + 1) quantity \(n < 20 ? 20 + n : 100 + n)" }
        #expect(heard.sorted() == expected.sorted())
        #expect(await hub.stop() == 0)
    }

    @Test func `R8.38 a follower learns that a power cut has taken live records that it received after the last pulse`()
        async throws
    {
        let host = try HubHost()
        let (data, kept) = (host.folder.path + "/data/", host.folder.path + "/kept/")
        try FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: true)
        func copyStore(_ from: String, _ to: String) throws {
            for name in ["hub.sqlite", "hub.sqlite-wal", "hub.sqlite.sequences"] {
                try? FileManager.default.removeItem(atPath: to + name)
                try FileManager.default.copyItem(atPath: from + name, toPath: to + name)
            }
        }
        var hub = try await host.start()
        let follower = try programs.start("follow.py", in: host)
        try await publish(0..<3, in: host)
        #expect(await follower.lines(count: 3).count == 3)
        try copyStore(data, kept)
        try await publish(3..<5, in: host)
        #expect(await follower.lines(count: 5).count == 5)
        await hub.killAndWait()
        // As if the last two records had not reached the disk, and the machine had been restarted.
        try copyStore(kept, data)
        var record = try #require(try SequenceReserve.read(of: data + "hub.sqlite"))
        record.places[0].boot = "another-start"
        try Data(record.bytes).write(to: URL(filePath: data + "hub.sqlite.sequences"))
        hub = try await host.start()
        try await publish(5..<6, in: host)
        let heard = await follower.lines(count: 9).dropFirst(5)
        #expect(heard.prefix(3) == ["1 quantity 20", "2 quantity 21", "3 quantity 22"])
        #expect(heard.last?.hasSuffix(" quantity 25") == true)
        #expect(await hub.stop() == 0)
    }

    /// A program that gives 200,000 records of some 250 bytes, as fast as the credit allows.
    private static let filler = """
        import json, os, zmq
        door = zmq.Context().socket(zmq.DEALER)
        door.connect(os.environ["HUB_DOOR"])
        def say(verb, body): door.send_multipart([verb, json.dumps(body).encode()])
        say(b"HELLO", {"protocol": [1], "instance": "filler", "plugin": "filler", "version": "1"})
        sent, stored = 0, 0
        while stored < 200:
            verb, text = door.recv_multipart()
            if verb == b"PING": door.send_multipart([b"PONG", text])
            elif verb == b"WELCOME": room = 8
            elif verb == b"STORED": stored, room = stored + 1, room + 1
            else: raise SystemExit(text)
            while room and sent < 200:
                say(b"SAMPLES", {"batch": sent, "backfill": True, "records": [
                    {"type": "weight", "value": 70 + n % 100 / 10, "unit": "kg", "start": "2024-03-15T07:30:05+01:00",
                     "key": f"k{n}", "metadata": {"note": "x" * 100}} for n in range(1000 * sent, 1000 * sent + 1000)]})
                sent, room = sent + 1, room - 1
        """

    @Test func `R4.20 a follower reads two hundred thousand records, 50 MiB, to the end`() async throws {
        let host = try HubHost()
        let hub = try await host.start()
        let python = try Tool.python(with: "zmq")
        let filler = try ChildProcess(
            python, [try host.folder.write(Self.filler, to: "fill.py")], environment: host.environment)
        #expect(await filler.waitForExit() == 0, "\(filler.errorLines)")
        // Prints only the last line, and the number of bytes that the program has read.
        let counting = try programs.text("follow.py").replacing(
            "verb, text = door.recv_multipart()",
            with:
                "verb, text = door.recv_multipart(); size = globals().get('size', 0) + len(text); globals()['size'] = size"
        ).replacing("print(record[\"seq\"]", with: "record[\"seq\"] % 200_000 or print(size, record[\"seq\"]")
        try #require(counting.contains("size, record"))
        let follower = try ChildProcess(
            python, [try host.folder.write(counting, to: "follow.py")], environment: host.environment)
        let words = try #require(await follower.lines(count: 1).first).split(separator: " ")
        #expect(words[1] == "200000")
        #expect(try #require(Int(words[0])) > 50 << 20, "bytes of pages")
        #expect(await hub.stop() == 0)
    }

    @Test func `The README's Python prints each weight with its unit and time`() async throws {
        let host = try HubHost()
        let hub = try await host.start()
        let listener = try ReadmePrograms("README.md").start("weights.py", in: host)
        let source = try ExampleSource(in: host, count: 100_000, rate: 200)
        let line = try #require(await listener.lines(count: 1).first)
        source.process.signal(SIGTERM)
        #expect(await source.process.waitForExit() == 0)
        #expect(line.wholeMatch(of: /[0-9.]+ kg [0-9T:.+\-Z]+/) != nil, "\(line)")
        #expect(await hub.stop() == 0)
    }

    @Test func `Five lines of Python receive weights`() async throws {
        let host = try HubHost()
        let hub = try await host.start()
        let subscriber = try programs.start("subscribe.py", in: host)
        // A subscriber only receives messages published after its subscription has arrived, so the source gives until then.
        let source = try ExampleSource(in: host, count: 100_000, rate: 200)
        let lines = await subscriber.lines(count: 1)
        source.process.signal(SIGTERM)
        #expect(await source.process.waitForExit() == 0)
        let line = try #require(lines.first)
        #expect(line.hasPrefix("sample/weight/me/example-source/ "))
        #expect(line.contains(#""kind":"quantity","type":"weight""#))
        #expect(await hub.stop() == 0)
    }

    @Test func `A follower with a cursor has no gap and no double when the hub is killed and restarted`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let host = try HubHost()
        var hub = try await host.start()
        let follower = try programs.start("follow.py", in: host)
        let source = try ExampleSource(in: host, count: 900, rate: 300)
        for round in 1...6 {
            // At a random moment while it receives records.
            _ = await follower.lines(count: round * 100 + Int.random(in: 0..<100, using: &generator))
            await hub.killAndWait()
            hub = try await host.start()
        }
        let heard = await follower.lines(count: 900).compactMap { Int($0.split(separator: " ")[0]) }
        #expect(await source.process.waitForExit() == 0)
        let samples = try await host.command("samples", "weight", "--json", "--order", "sequence")
        let stored = samples.lines.compactMap(Self.sequence)
        #expect(stored.count == 900, "seed \(seed)")
        #expect(heard.sorted() == stored.sorted(), "seed \(seed)")
        #expect(Set(heard).count == heard.count, "seed \(seed)")
        #expect(await hub.stop() == 0)
    }

    private static func sequence(_ line: String) -> Int? {
        struct Part: Decodable { var seq: Int }
        return try? JSONDecoder().decode(Part.self, from: Data(line.utf8)).seq
    }
}
