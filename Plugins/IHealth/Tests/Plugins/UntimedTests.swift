import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Testing

/// A weight that a bridge sends without a time.
@Suite(.timeLimit(.minutes(1)))
struct UntimedTests {
    /// The scale's own memory may have the same weighing with the scale's time, as with a HS3.
    @Test(arguments: ScaleModel.allCases, ["Europe/Berlin", "Asia/Tokyo"])
    func `after a restart of the plugin a repeated weight is the same weighing with its earlier time`(
        model: ScaleModel, zone: String
    ) async throws {
        let bench = try await ScaleBench()
        var (profile, faults) = (HSLDevice.Profile(), StandInFaults())
        (profile.datesWeights, faults.losesAcknowledgements) = (false, true)
        let bridge = try Bridge(model, profile: profile, faults: faults)
        func settings(_ zone: String) -> String { "link = \"\(bridge.link)\"\nzone = \"\(zone)\"" }
        let first = try await bench.run(model, settings("Europe/Berlin"))
        bridge.step(on: 812)
        await bench.hub.records(1)
        #expect(await bench.end(first) == .done)
        let before = try #require(await bench.samples.first)
        #expect(before.metadata?.text.contains("\"datedByHub\":true") == true)
        #expect(!bridge.device.isIdle)

        bridge.change { $0.faults.losesAcknowledgements = false }
        let second = try await bench.run(model, settings(zone))
        while !bridge.device.isIdle { try await Task.sleep(for: .milliseconds(5)) }
        if model == .hs3 { _ = await bench.events("memory-end", 2) }
        #expect(await bench.end(second) == .done)
        let after = await bench.samples
        #expect(after.map(\.start.microseconds) == [before.start.microseconds])
        #expect(after.map(\.key) == [before.key] && after.map(\.zone) == [zone])
        #expect(await bench.hub.duplicates == 0)
        #expect(await bench.hub.violations == [])
    }
}
