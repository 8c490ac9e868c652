import Foundation
import HubProcess
import Seeds
import Testing

/// What the README promises to people who write clients, done as they would do it.
@Suite(.serialized) struct ReadmeTests {
    private let programs: ReadmePrograms

    init() throws { programs = try ReadmePrograms() }

    @Test func `The README has the four programs`() throws {
        #expect(programs.names == ["follow.py", "publish.py", "remote.py", "subscribe.py"])
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
        hub.signal(SIGTERM)
        #expect(await hub.waitForExit() == 0)
    }

    @Test func `Five lines of Python hear weights`() async throws {
        let host = try HubHost()
        let hub = try await host.start()
        let subscriber = try programs.start("subscribe.py", in: host)
        // A subscriber hears what is published once its subscription has arrived, so the source gives until it does.
        let source = try ExampleSource(in: host, count: 100_000, rate: 200)
        let lines = await subscriber.lines(count: 1)
        source.process.signal(SIGTERM)
        #expect(await source.process.waitForExit() == 0)
        let line = try #require(lines.first)
        #expect(line.hasPrefix("sample/weight/me/example-source/ "))
        #expect(line.contains(#""kind":"quantity","type":"weight""#))
        hub.signal(SIGTERM)
        #expect(await hub.waitForExit() == 0)
    }

    @Test func `Following since a cursor has no gap and no double while the hub is killed and restarted`() async throws
    {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let host = try HubHost()
        var hub = try await host.start()
        let follower = try programs.start("follow.py", in: host)
        let source = try ExampleSource(in: host, count: 900, rate: 300)
        for round in 1...6 {
            // Somewhere in the middle of what it is given.
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
        hub.signal(SIGTERM)
        #expect(await hub.waitForExit() == 0)
    }

    private static func sequence(_ line: String) -> Int? {
        struct Part: Decodable { var seq: Int }
        return try? JSONDecoder().decode(Part.self, from: Data(line.utf8)).seq
    }
}
