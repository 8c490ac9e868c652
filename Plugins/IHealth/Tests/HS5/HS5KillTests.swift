import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import IHealthHS5

/// Kills of the real program.
@Suite(.timeLimit(.minutes(3)))
struct HS5KillTests {
    /// A weighing whose acknowledgement was lost is in the scale's memory and in the hub, but counts once.
    ///
    /// A weighing that the program had not saved is only in the memory.
    @Test func `kill -9 at any instant loses nothing and doubles nothing`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS5Scale(memory: [1234: try HS5Scale.mornings(40)])
        // Read the memory often, because it holds the weighings that failed.
        let settings = RawJSON(
            trusted: Array(try HS5Bench.settings(scale.link).text.replacing("1min", with: "2s").utf8))
        await bench.hub.change { $0.settings = settings }
        let weighed = try await bench.weighAndKill("hub-ihealth-hs5", weighingEvery: .milliseconds(400)) {
            scale.step(on: $0)
        }
        #expect(weighed.count > 5, "hardly anything was weighed")
        let expected = (Array(700..<740) + weighed).map { Double($0) / 10 }
        let status = try await bench.runToTheEnd("hub-ihealth-hs5", records: expected.count * 7) {
            let device = scale.device
            return device.isMeasuring && device.memory.values.allSatisfy(\.isEmpty) && device.isIdle
        }
        #expect(status == 0)
        #expect(await bench.weights.sorted() == expected)
        #expect(await bench.hub.violations == [])
    }
}
