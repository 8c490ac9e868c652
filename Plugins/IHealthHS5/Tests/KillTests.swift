import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleFrames
import Testing

@testable import IHealthHS5

/// The real program, killed.
@Suite(.timeLimit(.minutes(3)))
struct KillTests {
    /// Someone weighs all the time; the program is killed at random instants, mostly within a session.
    ///
    /// A weighing whose acknowledgement got lost is in the scale's memory and at the hub: still one. What the program had not kept
    /// is in the memory alone.
    @Test func `kill -9 at any instant loses nothing and doubles nothing`() async throws {
        let bench = try await ScaleBench()
        let scale = try Scale(memory: [1234: try Scale.mornings(40)])
        // The memory is looked at often: a weighing that went wrong is in it.
        let settings = RawJSON(
            trusted: Array(try HS5Bench.settings(scale.link).text.replacing("1min", with: "2s").utf8))
        await bench.hub.change { $0.settings = settings }
        let weigher = Task {
            // Each weight once, so that no two weighings look alike.
            for tenths in 900... {
                guard (try? await Task.sleep(for: .milliseconds(400))) != nil else { return tenths }
                scale.step(on: tenths)
            }
            return 0
        }
        for _ in 0..<6 {
            let process = try bench.start("hub-ihealth-hs5")
            try await Task.sleep(for: .milliseconds(Int.random(in: 600...1800)))
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        weigher.cancel()
        let end = await weigher.value
        let expected = Set((700..<740).map { Double($0) / 10 } + (900..<end).map { Double($0) / 10 })
        #expect(end > 905, "hardly anything was weighed")
        let greetings = await bench.hub.hellos.count
        let last = try bench.start("hub-ihealth-hs5")
        await bench.hub.hellos(greetings + 1)
        while !(scale.device.isMeasuring && scale.device.memory.values.allSatisfy(\.isEmpty) && scale.device.isIdle) {
            try await Task.sleep(for: .milliseconds(10))
        }
        await bench.hub.wait { hub in hub.held.count >= expected.count * 7 }
        kill(last.processIdentifier, SIGTERM)
        last.waitUntilExit()
        #expect(last.terminationStatus == 0)
        let values = await SessionTests.weights(bench)
        #expect(Set(values) == expected)
        #expect(values.count == expected.count)
        #expect(await bench.hub.violations == [])
        await scale.stop()
    }
}
