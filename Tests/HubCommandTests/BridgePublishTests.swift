import Foundation
import HubProcess
import Testing

/// `hub bridge publish`, as a program in any language uses it.
@Suite(.timeLimit(.minutes(4))) struct BridgePublishTests {
    /// One record as a line, with the key `k<number>`.
    static func line(_ number: Int) -> String {
        let (minute, second) = (number / 60 % 60, number % 60)
        let time =
            "2026-03-\(10 + number / 3_600)T10:\(minute < 10 ? "0" : "")\(minute):\(second < 10 ? "0" : "")\(second)Z"
        return #"{"type":"weight","value":72.5,"unit":"kg","start":"\#(time)","key":"k\#(number)"}"#
    }

    struct Answer: Decodable, Equatable {
        var line: Int?
        var item: Int?
        var key: String?
        var result: String
        var code, reason: String?
        var number: Int?
    }

    static func answers(_ lines: [String]) throws -> [Answer] {
        try lines.map { try JSONDecoder().decode(Answer.self, from: Data($0.utf8)) }
    }

    private func publish(
        _ hub: TestHub, _ lines: [String], _ options: [String] = [], end: String = "\n"
    ) async throws -> (code: Int32, answers: [Answer], errors: String) {
        let folder = try TemporaryFolder()
        let file = try folder.write(lines.joined(separator: "\n") + end, to: "lines")
        let result = try await hub.start(
            ["bridge", "publish"] + options, input: FileHandle(forReadingFrom: URL(filePath: file))
        ).result()
        let answers = try Self.answers(result.output.split(separator: "\n").map(String.init))
        return (result.code, answers, result.errors)
    }

    @Test func `R14.1 R14.2 each record is answered, and an invalid line does not affect the others`()
        async throws
    {
        let hub = try await TestHub()
        let heavy = #"{"type":"weight","value":"heavy","unit":"kg","start":"2026-03-10T10:00:00Z","key":"k2"}"#
        let endless = #"{"type":"weight","key":"long","metadata":{"x":""# + String(repeating: "x", count: 3_000_000)
        let (code, answers, errors) = try await publish(
            hub,
            [
                Self.line(1), "this is not JSON", heavy, "",
                "[\(Self.line(3)),\(Self.line(4))]", "42", #"{"hello":1}"#, endless, Self.line(1), Self.line(5),
            ], end: "")
        #expect(code == 1, "\(errors)")
        #expect(answers.map(\.line) == [1, 2, 3, 5, 5, 6, 7, 8, 9, 10])
        #expect(
            answers.map(\.result) == [
                "stored", "error", "rejected", "stored", "stored", "error", "error", "error", "duplicate", "stored",
            ], "\(answers)")
        #expect(answers.map(\.item) == [nil, nil, nil, 1, 2, nil, nil, nil, nil, nil])
        #expect(answers[0].key == "k1" && answers[0].number == answers[8].number)
        #expect(answers[1].reason?.contains("line 2 is not JSON: at byte 1 ") == true)
        #expect(answers[2].code == "value")
        #expect(answers[6].reason?.contains("has no type") == true)
        #expect(answers[7].reason?.contains("longer than 1000000 bytes") == true)
        #expect(errors.contains("hub: 5 of 10 refused"))
        #expect(try await hub.run(["samples", "--json"]).output.split(separator: "\n").count == 4)
    }

    @Test func `R14.3 records of a group on consecutive lines are stored together or not at all`()
        async throws
    {
        let hub = try await TestHub()
        func member(_ type: String, _ key: String, _ value: String, _ group: String) -> String {
            #"{"type":"\#(type)","start":"2026-03-15T07:30:05Z","key":"\#(key)","group":"\#(group)"\#(value)}"#
        }
        func pressure(_ group: String) -> [String] {
            [
                member("bloodPressure", "\(group) p", "", group),
                member("bloodPressureSystolic", "\(group) s", #","value":120,"unit":"mmHg""#, group),
                member("bloodPressureDiastolic", "\(group) d", #","value":80,"unit":"mmHg""#, group),
            ]
        }
        let (code, answers, _) = try await publish(
            hub, pressure("a") + [Self.line(1)] + pressure("b") + [""] + pressure("c").prefix(2))
        #expect(code == 1)
        #expect(answers.prefix(7).allSatisfy { $0.result == "stored" }, "\(answers)")
        #expect(answers.suffix(2).allSatisfy { $0.result == "rejected" && $0.code == "group" }, "\(answers)")
        // A live value does not split a group. An unreadable line may have been one of its records, so it makes the
        // group an error.
        let live = #"{"live":{"type":"weight","value":72.1,"unit":"kg"}}"#
        let (_, parted, _) = try await publish(
            hub,
            pressure("d").prefix(1) + [live] + pressure("d").suffix(2) + pressure("e").prefix(1) + ["{"]
                + pressure("e").suffix(2))
        #expect(parted.map(\.line) == [1, 3, 4, 5, 6, 7, 8])
        #expect(
            parted.map(\.result) == ["stored", "stored", "stored", "error", "error", "error", "error"], "\(parted)")
    }

    @Test func `R14.4 no record is lost or duplicated when the hub is killed during a publish`() async throws {
        let hub = try await TestHub()
        let input = Pipe()
        let program = try hub.start(["bridge", "publish", "--as", "kitchen"], input: input.fileHandleForReading)
        let count = 30_000
        let writer = Task.detached {
            for start in stride(from: 0, to: count, by: 500) {
                let lines = (start..<start + 500).map { Self.line($0) + "\n" }.joined()
                try input.fileHandleForWriting.write(contentsOf: Data(lines.utf8))
            }
            try input.fileHandleForWriting.close()
        }
        for share in 1...4 {
            #expect(await program.lines(count: count * share / 5).count >= count * share / 5)
            await hub.kill()
            try await hub.restart()
        }
        try await writer.value
        let result = await program.result()
        #expect(result.code == 0, "\(result.errors)")
        let answers = try Self.answers(result.output.split(separator: "\n").map(String.init))
        #expect(answers.map(\.line) == Array(1...count))
        #expect(answers.allSatisfy { $0.result == "stored" || $0.result == "duplicate" })
        let samples = try await hub.run(["samples", "--json"]).output.split(separator: "\n")
        #expect(samples.count == count)
        #expect(Set(answers.compactMap(\.number)).count == count)
    }

    @Test func `R14.4 publish continues without loss after the hub stops in order and starts again`() async throws {
        let hub = try await TestHub()
        let input = Pipe()
        let program = try hub.start(["bridge", "publish"], input: input.fileHandleForReading)
        func say(_ number: Int) throws {
            try input.fileHandleForWriting.write(contentsOf: Data((Self.line(number) + "\n").utf8))
        }
        try say(1)
        #expect(await program.lines(count: 1).count == 1)
        #expect(try await hub.stop() == 0)
        try say(2)
        try await hub.restart()
        #expect(await program.lines(count: 2).count == 2)
        try input.fileHandleForWriting.close()
        #expect(await program.result().code == 0)
    }

    @Test func `R14.2 SIGTERM ends publish and it reports unanswered lines, also when the answers lose their reader`()
        async throws
    {
        let hub = try await TestHub()
        #expect(try await hub.stop() == 0)
        let input = Pipe()
        let program = try hub.start(["bridge", "publish"], input: input.fileHandleForReading)
        try input.fileHandleForWriting.write(contentsOf: Data((Self.line(1) + "\n").utf8))
        // Once the pipe is empty, the program has read the line.
        var waiting: CInt = 1
        while waiting > 0 {
            _ = ioctl(input.fileHandleForReading.fileDescriptor, UInt(FIONREAD), &waiting)
            try await Task.sleep(for: .milliseconds(10))
        }
        program.signal(SIGTERM)
        let result = await program.result()
        #expect(result.code == 75)
        #expect(result.errors.contains("ended before the hub had answered; give the lines"), "\(result.errors)")

        try await hub.restart()
        let next = Pipe()
        let answered = try hub.start(["bridge", "publish"], input: next.fileHandleForReading)
        try next.fileHandleForWriting.write(contentsOf: Data((Self.line(1) + "\n").utf8))
        #expect(await answered.lines(count: 1).count == 1)
        answered.signal(SIGTERM)
        let early = await answered.result()
        #expect(early.code == 75 && early.errors.contains("the lines up to 1 are answered"), "\(early)")
        let folder = try TemporaryFolder()
        let file = try folder.write((0..<20_000).map(Self.line).joined(separator: "\n") + "\n", to: "lines")
        let command = "\(Programs.path("hub")) bridge publish --config \(hub.configuration) < \(file)"
        let shell = try ChildProcess("/bin/bash", ["-c", "\(command) | head -1; echo ${PIPESTATUS[0]}"])
        let ended = await shell.result()
        #expect(ended.output.hasSuffix("\n75\n"), "\(ended.output)")
        #expect(ended.errors.contains("the reader of the answers is gone"))
    }

    @Test func `publish reads the output of a program after two dashes and reports its failure`() async throws {
        let hub = try await TestHub()
        let good = try await hub.start(["bridge", "publish", "--", "/bin/sh", "-c", "echo '\(Self.line(1))'"]).result()
        #expect(good.code == 0 && good.output.contains(#""result":"stored""#), "\(good)")
        let bad = try await hub.start(["bridge", "publish", "--", "/bin/sh", "-c", "echo '\(Self.line(1))'; exit 3"])
            .result()
        #expect(bad.code == 1 && bad.errors.contains("hub: /bin/sh ended with exit code 3"), "\(bad)")
    }

    @Test func `live values and events are passed on and answered only if they are invalid`() async throws {
        let hub = try await TestHub()
        let taps = [
            try hub.start(["tap", "live/weight/", "--json", "--count", "1"]),
            try hub.start(["tap", "device/", "--json", "--count", "1"]),
        ]
        let input = Pipe()
        let program = try hub.start(["bridge", "publish", "--as", "kitchen"], input: input.fileHandleForReading)
        let lines = """
            {"live":{"type":"weight","value":72.1,"unit":"kg","device":"scale-1"}}
            {"event":{"event":"connected","device":"scale-1"}}

            """
        // Only taps that have already subscribed receive them, so they are sent repeatedly.
        while taps.contains(where: \.isRunning) {
            try input.fileHandleForWriting.write(contentsOf: Data(lines.utf8))
            try await Task.sleep(for: .milliseconds(100))
        }
        let (live, event) = (await taps[0].result().output, await taps[1].result().output)
        #expect(live.contains(#""value":72.1,"#) && live.contains(#""source":"kitchen""#), "\(live)")
        #expect(event.contains(#""event":"connected""#) && event.contains("scale-1"), "\(event)")
        try input.fileHandleForWriting.write(contentsOf: Data(#"{"event":{"event":"Not a word"}}"#.utf8 + [10]))
        try input.fileHandleForWriting.close()
        let result = await program.result()
        #expect(result.code == 1, "\(result)")
        let answers = try Self.answers(result.output.split(separator: "\n").map(String.init))
        #expect(answers.map(\.result) == ["error"] && answers[0].reason?.contains("event") == true, "\(answers)")
    }

    @Test func `publish waits for the first session before it passes on a single event`() async throws {
        let hub = try await TestHub()
        let tap = try hub.start(["tap", "device/", "--json", "--count", "1"])
        // Repeated until the tap has subscribed; each time it is the only line of a new process.
        while tap.isRunning {
            let (code, _, errors) = try await publish(hub, [#"{"event":{"event":"connected","device":"scale-1"}}"#])
            #expect(code == 0, "\(errors)")
        }
        let event = await tap.result().output
        #expect(event.contains(#""event":"connected""#) && event.contains("scale-1"), "\(event)")
    }

    @Test func `an error while reading stdin is not mistaken for its end`() async throws {
        let hub = try await TestHub()
        for words in [["publish"], ["sink", "--name", "office"]] {
            let folder = try FileHandle(forReadingFrom: URL(filePath: "/tmp"))
            let result = try await hub.start(["bridge"] + words, input: folder).result()
            #expect(result.code == 71 && result.errors.contains("failed: Is a directory"), "\(words) \(result)")
        }
    }

    @Test func `the program in the document publishes a record`() async throws {
        let hub = try await TestHub()
        let result = try await BridgeDocument.start("publish.sh", hub).result()
        #expect(
            result.output
                == #"{"line":1,"key":"20260315T063005Z","result":"stored","number":1,"seq":1}"# + "\n", "\(result)")
        #expect(try BridgeDocument.text().contains(result.output.dropLast()))
    }
}

/// The programs of *Any language* in Docs/Clients.md, exactly as they are printed there.
enum BridgeDocument {
    static func text() throws -> String {
        try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Docs/Clients.md"),
            encoding: .utf8)
    }

    static func program(_ name: String) throws -> String { try ReadmePrograms(mark: "bridge").text(name) }

    /// Runs a program in a shell that finds this build's hub.
    static func start(_ name: String, _ hub: TestHub) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh", ["-c", "PATH=\"\(Programs.folder):$PATH\"\n" + program(name)],
            environment: ["HUB_CONF": hub.configuration])
    }
}
