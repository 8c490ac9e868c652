import Foundation
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
        let bench = try await ScaleBench()
        let memory = HS3Scale.memory(60)
        let scale = try HS3Scale(memory: memory)
        let settings = try #require(RawJSON(HS3Bench.settings(scale.link)))
        await bench.hub.change { $0.settings = settings }
        let weighed = try await bench.weighAndKill(
            Self.program, weighingEvery: .milliseconds(40), lives: 100...1400
        ) { tenths in
            // Each gets a different time, because no one weighs twice a second.
            let wall = WallTime(secondsSince2000: 847_627_200 + tenths * 61)
            scale.simulator.submit(.stepOn(tenthsOfKilogram: 700 + tenths % 100, at: wall))
        }
        #expect(weighed.count > 6, "hardly anything was weighed")
        let status = try await bench.runToTheEnd(Self.program, records: memory.count + weighed.count) {
            scale.acknowledged.count == weighed.count
        }
        #expect(status == 0)
        #expect(scale.weighed.count == weighed.count)
        let expected = Set(try (memory + scale.weighed).map { try HS3Bench.record($0) })
        let texts = await bench.hub.held.map(\.text)
        #expect(texts.count == expected.count)
        #expect(Set(texts) == expected)
        #expect(await bench.hub.violations == [])
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
