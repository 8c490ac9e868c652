import Foundation
import HubClient
import HubProcess
import Testing

/// `hub bridge follow`, as a script uses it.
@Suite(.timeLimit(.minutes(4))) struct BridgeFollowTests {
    private struct Line: Decodable {
        struct Record: Decodable {
            var kind: String
            var key: String?
            var seq: Int
            var number: Int
            var value: Double?
        }
        var cursor: String?
        var record: Record?
        var restored: String?
    }

    private static func read(_ lines: [String]) throws -> [Line] {
        try lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    @Test func `R14.10 follow gives each record once and in order although the hub is killed, then its retraction`()
        async throws
    {
        let hub = try await TestHub()
        try hub.give(CareTests.weights(1...3))
        let follower = try hub.start(["bridge", "follow", "weight", "--since", "beginning"])
        #expect(await follower.lines(count: 3).count == 3)
        try hub.give(CareTests.weights(4...6))
        #expect(await follower.lines(count: 6).count == 6)
        await hub.kill()
        try await hub.restart()
        try hub.give(CareTests.weights(7...8))
        #expect(try await hub.run(["retract", "2", "--yes"]).code == 0)
        #expect(await follower.lines(count: 9).count == 9)
        follower.signal(SIGTERM)
        let result = await follower.result()
        #expect(result.code == 0, "\(result.errors)")
        let lines = try Self.read(result.output.split(separator: "\n").map(String.init))
        #expect(lines.compactMap(\.record?.number) == [1, 2, 3, 4, 5, 6, 7, 8, 2])
        #expect(lines.last?.record?.kind == "retraction")
        #expect(lines.compactMap(\.record?.seq) == Array(1...9))
        for line in lines { #expect(line.cursor?.hasSuffix("-\(line.record?.seq ?? 0)") == true) }

        // The cursor of a line continues after that line.
        let cursor = try #require(lines[5].cursor)
        let rest = try await hub.run(["bridge", "follow", "weight", "--since", cursor, "--count", "3"])
        #expect(
            try Self.read(rest.output.split(separator: "\n").map(String.init)).compactMap(\.record?.seq) == [7, 8, 9])
    }

    @Test
    func `R14.11 follow --since last continues after the last line given, and a place has one follower at a time`()
        async throws
    {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        let state = "\(folder.path)/places/mine"
        let options = ["bridge", "follow", "weight", "--since", "last", "--state", state]
        try hub.give(CareTests.weights(1...5))
        let first = try await hub.succeed(options + ["--count", "2"])
        let second = try await hub.run(options + ["--count", "2"])
        let follower = try hub.start(options)
        #expect(await follower.lines(count: 1).count == 1)
        try await hub.expect(options, .system, errors: "is in use by process \(follower.pid)")
        follower.signal(SIGKILL)
        let third = await follower.result()
        try hub.give(CareTests.weights(6...6))
        let fourth = try await hub.run(options + ["--count", "1"])
        let seen = try [first, second, third, fourth].map { result in
            try Self.read(result.output.split(separator: "\n").map(String.init)).compactMap(\.record?.seq)
        }
        #expect(seen == [[1, 2], [3, 4], [5], [6]])

        let other = try await hub.run(["bridge", "follow", "height", "--since", "last", "--state", state])
        #expect(other.code == 64 && other.errors.contains("is of another selection"), "\(other)")
    }

    @Test func `R14.12 follow reports a restored store and reads it from the beginning`() async throws {
        let folder = try TemporaryFolder()
        let hub = try await TestHub(in: folder)
        try hub.give(CareTests.weights(1...2))
        #expect(try await hub.run(["backup", "\(folder.path)/b.sqlite"]).code == 0)
        try hub.give(CareTests.weights(3...4))
        let follower = try hub.start(["bridge", "follow", "weight", "--since", "beginning"])
        #expect(await follower.lines(count: 4).count == 4)
        #expect(try await hub.stop() == 0)
        try await hub.succeed(["restore", "\(folder.path)/b.sqlite", "--yes"])
        try await hub.restart()
        try hub.give(CareTests.weights(5...5))
        #expect(await follower.lines(count: 8).count == 8)
        follower.signal(SIGTERM)
        let lines = try Self.read(await follower.result().output.split(separator: "\n").map(String.init))
        #expect(
            lines[4].restored?.hasSuffix("-0") == true && lines[4].restored?.prefix(8) == lines[5].cursor?.prefix(8))
        #expect(lines[4].restored?.prefix(8) != lines[3].cursor?.prefix(8))
        #expect(lines.suffix(3).compactMap(\.record?.seq) == [1, 2, 3])
    }

    @Test func `R14.13 follow ends when its reader closes the pipe, and passes lines to a program's stdin`()
        async throws
    {
        let hub = try await TestHub()
        try hub.give(CareTests.weights(1...5))
        let command = "\(Programs.path("hub")) bridge follow weight --since beginning --config \(hub.configuration)"
        let shell = try ChildProcess("/bin/bash", ["-c", "\(command) | head -2; echo ${PIPESTATUS[0]}"])
        // It has written all records and ends, because its reader has gone.
        let ended = await shell.result()
        #expect(ended.output.split(separator: "\n").count == 3 && ended.output.hasSuffix("\n0\n"), "\(ended)")

        let words = ["bridge", "follow", "weight", "--since", "beginning", "--", "/bin/sh", "-c"]
        let good = try await hub.run(words + ["read -r a; read -r b; echo \"$b\""])
        #expect(good.code == 0 && good.output.contains(#""number":2,"#), "\(good)")
        try await hub.expect(words + ["exit 7"], .unhealthy, errors: "/bin/sh ended with exit code 7")

        // The same while it waits for the hub.
        #expect(try await hub.stop() == 0)
        let waiting = try ChildProcess("/bin/bash", ["-c", "\(command) | :; echo ${PIPESTATUS[0]}"])
        #expect(await waiting.result().output == "0\n")
    }
}
