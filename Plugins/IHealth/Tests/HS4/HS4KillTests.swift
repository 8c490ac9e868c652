import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import IHealthHS4

/// Kills of the real program.
@Suite(.timeLimit(.minutes(3)))
struct HS4KillTests {
    /// A weighing whose acknowledgement was lost is in the scale's memory and in the hub, but counts once.
    ///
    /// A weighing that the program had not saved is only in the memory.
    @Test func `kill -9 at any instant loses nothing and doubles nothing`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS4Scale(at: bench.place, memory: try HS4Scale.mornings(40))
        let settings = try HS4Bench.settings(scale.link)
        await bench.hub.change { $0.settings = settings }
        let weighed = try await bench.weighAndKill("hub-ihealth-hs4", weighingEvery: .milliseconds(60)) {
            scale.step(on: $0)
        }
        #expect(weighed.count > 20, "hardly anything was weighed")
        let expected = (Array(700..<740) + weighed).map { Double($0) / 10 }
        let status = try await bench.runToTheEnd("hub-ihealth-hs4", records: expected.count) {
            scale.device.isMeasuring && scale.device.memory.isEmpty && scale.device.isIdle
        }
        #expect(status == 0)
        #expect(await bench.weights.sorted() == expected)
        #expect(await bench.hub.violations == [])
    }
}
