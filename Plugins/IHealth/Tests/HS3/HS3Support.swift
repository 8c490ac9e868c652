import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleSimulation
import ScaleStandIns
import Synchronization
import Testing

@testable import IHealthHS3
@testable import ScaleProtocols

/// A simulated scale behind a real link, in the zone of the tests whatever the machine's zone.
final class HS3Scale: PluginCase.FarSide {
    static let device = "020000003001"

    let simulator: ScaleSimulator
    private let told: Told
    private let ended: Task<Void, Never>

    private final class Told: Sendable { let events = Mutex<[SimulatorEvent]>([]) }

    init(_ options: ScaleSimulator.Options) throws {
        let told = Told()
        let simulator = try ScaleSimulator(options) { event in told.events.withLock { $0.append(event) } }
        self.told = told
        self.simulator = simulator
        ended = Task {
            await withCheckedContinuation { continuation in
                let thread = Thread {
                    try? simulator.run()
                    continuation.resume()
                }
                thread.start()
            }
        }
    }

    deinit { simulator.stop() }

    /// A scale with this memory on a free TCP port or on a pty.
    convenience init(
        memory: [HS3RecordKey] = [], faults: [String] = [], skew: Int = 0, plan: [PlannedCommand] = [],
        link: ScaleSimulator.Link? = nil
    ) throws {
        var profile = HS3Device.Profile()
        profile.repeatAfter = .milliseconds(60)
        let clock = try SimulationClock(ScaleBench.clock)
        // The simulator uses the machine's zone, and the hub of the tests uses Berlin.
        let hub = LocalClock(ScaleBench.zone).wall(at: try Timestamp(parsing: "2026-11-20T12:00:00Z").microseconds)
        profile.skewSeconds = skew + hub.secondsSince2000 - clock.wall.secondsSince2000
        let link = try link ?? .listen(try LinkAddress("tcp://127.0.0.1:0"))
        var options = ScaleSimulator.Options(link: link, device: HS3Device(profile: profile, memory: memory))
        options.clock = clock
        options.plan = plan
        for fault in faults { options.add(try FaultOption(fault)) }
        try self.init(options)
    }

    /// A scale that plays a script of the simulator.
    convenience init(script: Data) throws {
        let script = try SimulatorScript(json: script, file: "script.json")
        let memory = script.weighings.compactMap { weighing in
            weighing.time.flatMap { HS3Record($0, tenthsOfKilogram: weighing.tenthsOfKilogram)?.key }
        }
        try self.init(memory: memory, skew: script.clockSkewSeconds, plan: script.events)
        for fault in script.faults { simulator.submit(.fault(try FaultOption(fault))) }
    }

    var link: String {
        simulator.address.hasPrefix("/") ? "serial://\(simulator.address)" : simulator.address
    }
    var variables: [String: String] { ["LINK": link] }

    var events: [SimulatorEvent] { told.events.withLock { $0 } }

    /// The weighings that were acknowledged to the scale.
    var acknowledged: [HS3RecordKey] {
        events.compactMap { if case .scale(.acknowledged(let key)) = $0 { HS3Record(key[...])?.key } else { nil } }
    }
    /// All weighings on it.
    var weighed: [HS3RecordKey] {
        events.compactMap { if case .scale(.stored(let key)) = $0 { HS3Record(key[...])?.key } else { nil } }
    }

    func step(on tenths: Int) { simulator.submit(.stepOn(tenthsOfKilogram: tenths, at: nil)) }

    func stop() async {
        simulator.stop()
        await ended.value
    }

    /// Weighings on the mornings before the day of the tests, oldest first.
    static func memory(_ count: Int, seed: UInt64 = 3) -> [HS3RecordKey] {
        var series = WeighingSeries(seed: seed)
        return series.mornings(count, before: WallTime(2026, 11, 20, 12) ?? .startOf2000).compactMap {
            HS3Record($0.time, tenthsOfKilogram: $0.tenthsOfKilogram)?.key
        }
    }
}

extension ScaleBench {
    /// Starts the plugin of a HS3, with time limits for a simulated scale and settings from the hub.
    func run(_ link: String, _ more: String = "", mode: Hello.Mode = .run) async throws -> PluginRun {
        await run(HS3Bench.plugin(), try #require(RawJSON(HS3Bench.settings(link, more))), mode: mode)
    }

    var keys: [String] { get async { await samples.map(\.key.text) } }

    /// The weights, in kilograms.
    var weights: [Double] {
        get async {
            await samples.compactMap { sample in
                if sample.type == .weight, case .quantity(let value, "kg") = sample.value { value } else { nil }
            }
        }
    }
}

enum HS3Bench {
    static func settings(_ link: String, _ more: String = "") -> String {
        """
        {"link":"\(link)","device_id":"\(HS3Scale.device)","set_clock":true,"hour_mode":"sdk12",\
        "clock_bcd":"nearest","auth_mode":"local"\(more)}
        """
    }

    static func plugin() -> IHealthHS3 {
        var plugin = IHealthHS3()
        plugin.timing = ScaleTiming(pause: .milliseconds(5)) { settings in
            settings.timing.openAfter = .zero
            (settings.timing.firstResend, settings.timing.nextResend) = (.milliseconds(150), .milliseconds(150))
            (settings.openTimeout, settings.timing.answerTimeout) = (.milliseconds(800), .milliseconds(1500))
            settings.timing.partialFrameTimeout = .milliseconds(50)
        }
        return plugin
    }

    /// The expected record of a weighing, as a source writes it.
    static func record(_ key: HS3RecordKey, isClockSuspect: Bool = false) throws -> String {
        let wall = try #require(WallTime(hs3Packed: key.packedTime, mode: .sdk12))
        let tenths = try #require(key.tenthsOfKilogram)
        let start = LocalClock(ScaleBench.zone).place(wall).time.text
        let suspect = isClockSuspect ? ",\"clockSuspect\":true" : ""
        let kilograms = tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
        return """
            {"kind":"quantity","type":"weight","value":\(kilograms),"unit":"kg","start":"\(start)",\
            "zone":"Europe/Berlin","source":{"device":"020000003001"},"key":"\(key)","metadata":{"local":"\(wall)"\(suspect)}}
            """
    }
}
