import Foundation
import HubProcess
import Platform
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Synchronization
import Testing

/// A scale's connector is killed while a person stands on the scale, with a real hub at the other end.
///
/// The demo kills connectors too, but not this one in this way. A HS4 sends no time with a live weight, so the connector finds the copy in the
/// memory by its time, to some seconds. In the demo a month passes in half a minute, and those seconds are days.
@Suite(.serialized) struct ScaleKillTests {
    /// The number of kills in one run, which `SCALE_KILLS` can change.
    private static let kills = ProcessInfo.processInfo.environment["SCALE_KILLS"].flatMap(Int.init) ?? 8

    @Test(.timeLimit(.minutes(5)))
    func `each weighing of a HS4 is at the hub once although the connector is killed during live weights`() async throws
    {
        let seed = ProcessInfo.processInfo.environment["SCALE_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let host = try HubHost()
        let hub = try await host.start()
        let socket = "\(host.folder.path)/scale"
        let scale = try StandInScale(
            HS4Device(), own: "unix-accept://\(socket)", link: "unix://\(socket)", clock: "system",
            zone: ScaleBench.zone)
        let begun = Counter()
        var connector = try Self.start(host, scale.link, "--run")
        for number in 0..<Self.kills {
            scale.submit(.weigh(StandInWeighing(tenthsOfKilogram: 700 + number))) { device in
                if device.isMeasuring { begun.value.withLock { $0 += 1 } }
                return device.isMeasuring
            }
            // From here on a person is on the scale, until the weight is confirmed.
            while begun.value.withLock({ $0 }) <= number { try await Task.sleep(for: .milliseconds(2)) }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...40, using: &generator)))
            await connector.killAndWait()
            connector = try Self.start(host, scale.link, "--run")
        }
        await connector.killAndWait()
        // Takes the rest of the scale's memory, and waits until the hub has stored it.
        let last = try Self.start(host, scale.link, "--once")
        #expect(await last.waitForExit() == 0, "seed \(seed): \(last.errorLines)")
        #expect(scale.device.memory.isEmpty, "seed \(seed)")
        let weights = try await host.jsonLines("samples", "weight", as: Sample.self).map(\.value).sorted()
        #expect(weights == (0..<Self.kills).map { Double(700 + $0) / 10 }, "seed \(seed): \(weights)")
        #expect(await hub.stop() == 0)
    }

    private struct Sample: Decodable { var value: Double }

    /// The number of weighings that have begun.
    private final class Counter: Sendable { let value = Mutex(0) }

    private static func start(_ host: HubHost, _ link: String, _ verb: String) throws -> ChildProcess {
        try host.plugin(
            "hub-ihealth-hs4", verb,
            settings: "link = \"\(link)\"\ndevice_id = \"020000004001\"\nzone = \"Europe/Berlin\"\n")
    }
}
