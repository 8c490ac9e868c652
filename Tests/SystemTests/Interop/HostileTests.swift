import Foundation
import HubProcess
import Testing

/// A hub whose peers do everything wrong.
@Suite(.serialized) struct HostileTests {
    /// `HOSTILE_SECONDS` sets the duration.
    @Test func `R3.6 bad input of any kind harms neither the hub nor a source and a follower`() async throws {
        let environment = ProcessInfo.processInfo.environment
        let seconds = environment["HOSTILE_SECONDS"].flatMap(Int.init) ?? 3
        let seed = environment["HOSTILE_SEED"].flatMap(UInt32.init) ?? UInt32.random(in: 0 ... .max)
        let host = try HubHost()
        let hub = try await host.start()
        let follower = try ReadmePrograms().start("follow.py", in: host)
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Programs/hostile.py").path
        let hostile = try ChildProcess(
            try Tool.python(with: "zmq"), [program, "\(seconds)", "\(seed)"], environment: host.environment)
        let count = seconds * 100
        let source = try ExampleSource(in: host, count: count, rate: 100)

        let heard = await follower.lines(count: count)
        #expect(await source.process.waitForExit() == 0, "seed \(seed)")
        #expect(await hostile.waitForExit() == 0, "seed \(seed)")
        let sequences = heard.compactMap { Int($0.split(separator: " ")[0]) }
        #expect(sequences.count == count, "seed \(seed)")
        #expect(Set(sequences).count == sequences.count, "seed \(seed)")
        #expect(try await host.command("status").status == 0, "seed \(seed)")
        #expect(await hub.stop() == 0, "seed \(seed)")
    }
}
