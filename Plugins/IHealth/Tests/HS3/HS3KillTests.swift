import Foundation
import Platform
import PluginKit
import PluginTesting
import ScaleBench
import ScaleSimulation
import ScaleStandIns
import Testing

@testable import IHealthHS3
@testable import ScaleProtocols

/// Kills of the real program.
@Suite(.timeLimit(.minutes(3)))
struct HS3KillTests {
    private static let program = "hub-ihealth-hs3"

    /// A person weighs every 40 ms, and the program is killed at random times, mostly within a session.
    ///
    /// Every record that the scale got acknowledged must be in the hub at the end, once and correct.
    @Test func `kill -9 at any instant loses nothing and doubles nothing`() async throws {
        let kills = ProcessInfo.processInfo.environment["HUB_TEST_KILLS"].flatMap { Int($0) } ?? 6
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        let bench = try await ScaleBench()
        let memory = HS3Scale.memory(60)
        let scale = try HS3Scale(memory: memory)
        let settings = try #require(RawJSON(HS3Bench.settings(scale.link)))
        await bench.hub.change { $0.settings = settings }
        let weigher = Task {
            var tenths = 700
            while (try? await Task.sleep(for: .milliseconds(40))) != nil {
                tenths = tenths == 800 ? 700 : tenths + 1
                // Each gets a different time, because no one weighs twice a second.
                let wall = WallTime(secondsSince2000: 847_627_200 + scale.weighed.count * 61)
                scale.simulator.submit(.stepOn(tenthsOfKilogram: tenths, at: wall))
            }
        }
        for _ in 0..<kills {
            let process = try bench.start(Self.program)
            try await Task.sleep(for: .milliseconds(Int.random(in: 100...1400, using: &generator)))
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        weigher.cancel()
        await weigher.value
        let greetings = await bench.hub.hellos.count
        let last = try bench.start(Self.program)
        await bench.hub.hellos(greetings + 1)
        await bench.hub.wait { hub in
            scale.acknowledged.count == scale.weighed.count && hub.held.count >= memory.count + scale.weighed.count
        }
        kill(last.processIdentifier, SIGTERM)
        last.waitUntilExit()
        #expect(last.terminationStatus == 0, "seed \(seed)")
        #expect(scale.weighed.count > kills, "seed \(seed): hardly anything was weighed")
        let expected = Set(try (memory + scale.weighed).map { try HS3Bench.record($0) })
        let texts = await bench.hub.held.map(\.text)
        #expect(texts.count == expected.count, "seed \(seed)")
        #expect(Set(texts) == expected, "seed \(seed)")
        #expect(await bench.hub.violations == [], "seed \(seed)")
    }

    @Test func `the program describes itself with the manifest`() throws {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = try ScaleBench.program(Self.program)
        process.arguments = ["--describe"]
        process.standardOutput = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(try JSONDecoder().decode(Manifest.self, from: output) == IHealthHS3.fullManifest)
    }
}
