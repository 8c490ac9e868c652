import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import IHealthHS4

/// The real program, killed.
@Suite(.timeLimit(.minutes(3)))
struct KillTests {
    /// A weighing whose acknowledgement got lost is in the scale's memory and at the hub: still one.
    ///
    /// What the program had not kept is in the memory alone.
    @Test func `kill -9 at any instant loses nothing and doubles nothing`() async throws {
        let bench = try await ScaleBench()
        let scale = try Scale(at: bench.place, memory: try Scale.mornings(40))
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
        #expect(await SessionTests.values(bench).sorted() == expected)
        #expect(await bench.hub.violations == [])
        await scale.stop()
    }
}
