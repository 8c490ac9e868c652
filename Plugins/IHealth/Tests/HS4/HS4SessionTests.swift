import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import IHealthHS4

/// Complete sessions: simulated scale, real link, plugin, spool, hub.
@Suite(.timeLimit(.minutes(1)))
struct HS4SessionTests {
    /// Weighs during an open measurement, and waits until the hub has the weight.
    static func weigh(_ tenths: Int, _ scale: HS4Scale, _ bench: ScaleBench) async {
        let count = await bench.hub.held.count
        scale.step(on: tenths) { $0.isMeasuring }
        await bench.hub.records(count + 1)
    }

    @Test(arguments: ["ble", "spp"]) func `memory and weighings arrive once, with the time of the scale or the hub`(
        framing: String
    ) async throws {
        let bench = try await ScaleBench()
        var profile = HS4Device.Profile()
        profile.link = framing == "ble" ? .lowEnergy : .serialPort
        let memory = try HS4Scale.mornings(30)
        let scale = try HS4Scale(at: bench.place, memory: memory, profile: profile)
        let run = await bench.run(HS4Bench.plugin(), try HS4Bench.settings(scale.link, ",\"framing\":\"\(framing)\""))
        await bench.hub.records(30)
        _ = await bench.events("memory-end")
        await Self.weigh(812, scale, bench)
        await Self.weigh(813, scale, bench)
        #expect(await bench.end(run) == .done)
        let samples = await bench.samples
        #expect(samples.count == 32)
        #expect(await bench.hub.duplicates == 0)
        #expect(await bench.hub.violations == [])
        let first = try #require(samples.first)
        #expect(first.start.text == "2026-07-01T07:10:03+02:00")
        #expect(first.metadata?.text == "{\"local\":\"2026-07-01 07:10:03\"}")
        #expect(first.key.text == "07ea0701070a0302bc")
        #expect(first.source.device == HS4Scale.id && first.subject == nil && first.group == nil)
        let live = try #require(samples.last)
        #expect(live.metadata?.text == "{\"datedByHub\":true}")
        #expect(live.start.text.hasPrefix("2026-11-20T13:0"))
        let passing = await bench.hub.lives.compactMap(\.value)
        #expect(passing.contains(81.3) && passing.count >= 4)
        #expect(await bench.hub.lives.compactMap(\.progress).last == 1)
    }

    /// Three records and a weighing are 430 bytes by Bluetooth LE and 240 on a serial port, both directions together.
    @Test(arguments: ["ble", "spp"], ScaleBench.cuts(of: 440))
    func `a link cut at any byte loses nothing and doubles nothing`(framing: String, bytes: [Int]) async throws {
        try await ScaleBench.eachAtOnce(bytes) { byte in
            let bench = try await ScaleBench()
            var profile = HS4Device.Profile()
            profile.link = framing == "ble" ? .lowEnergy : .serialPort
            let scale = try HS4Scale(at: bench.place, memory: try HS4Scale.mornings(3), profile: profile)
            scale.cut(after: byte)
            let run = await bench.run(
                HS4Bench.plugin(), try HS4Bench.settings(scale.link, ",\"framing\":\"\(framing)\""))
            scale.step(on: 812) { $0.isMeasuring }
            await bench.hub.records(4)
            // A weighing that was not confirmed is read from the scale's memory and is the same record.
            while !(scale.device.memory.isEmpty && scale.device.isIdle && scale.device.isMeasuring) {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(await bench.end(run) == .done, "cut at \(byte)")
            #expect(await bench.weights.sorted() == [70, 70.1, 70.2, 81.2], "cut at \(byte)")
        }
    }

    @Test(arguments: [
        "bad-checksum=3", "repeat=2", "deaf=5", "lose-piece=3", "shuffle=3", "garbage=9", "pieces=3", "power-off=5",
        "login-again",
    ])
    func `a fault of the link or the scale loses nothing and doubles nothing`(fault: String) async throws {
        let bench = try await ScaleBench()
        let scale = try HS4Scale(at: bench.place, memory: try HS4Scale.mornings(12), faults: try StandInFaults(fault))
        let run = await bench.run(HS4Bench.plugin(), try HS4Bench.settings(scale.link))
        await bench.hub.records(12)
        #expect(await bench.end(run) == .done)
        #expect(await bench.weights.sorted() == (700...711).map { Double($0) / 10 })
        #expect(await bench.hub.duplicates == 0)
    }

    @Test func `a weighing that is read again from the memory is the same record`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS4Scale(at: bench.place)
        let first = await bench.run(HS4Bench.plugin(), try HS4Bench.settings(scale.link))
        _ = await bench.events("memory-end")
        await Self.weigh(812, scale, bench)
        #expect(await bench.end(first) == .done)
        // The scale has stored it too, dated when the person stepped on, and another of the same weight two minutes before.
        let wall = scale.wall
        for seconds in [-3, -120] {
            let time = try #require(wall.adding(seconds: seconds))
            scale.submit(.store(StandInWeighing(tenthsOfKilogram: 812), at: time))
        }
        let second = await bench.run(HS4Bench.plugin(), try HS4Bench.settings(scale.link))
        _ = await bench.events("memory-end", 2)
        await bench.hub.records(2)
        #expect(await bench.end(second) == .done)
        #expect(await bench.weights == [81.2, 81.2])
    }

    @Test func `an error of the scale is reported in words, and resolved by the next weighing`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS4Scale(at: bench.place)
        let run = await bench.run(HS4Bench.plugin(), try HS4Bench.settings(scale.link))
        _ = await bench.events("memory-end")
        scale.submit(.fail(0xE7))
        scale.submit(.fail(0xA0))
        let errors = await bench.events("error", 4)
        let moved = try #require(errors.first { $0.code == 6 })
        #expect(moved.text == "HS4: stand still, movement while measuring (Er7)" && moved.severity == .warning)
        #expect(await bench.events("battery").first?.data?.text == "{\"low\":true}")
        await Self.weigh(812, scale, bench)
        await bench.hub.wait { $0.events.last { $0.event == "error" }?.isResolved == true }
        let connected = try #require(await bench.events("connected").first)
        #expect(connected.data?.text.contains("\"name\":\"Body Scale\",\"firmware\":\"1.0.1\"") == true)
        #expect(await bench.end(run) == .done)
    }

    @Test func `the log-in uses the vendor's key, and a wrong key is error 5`() async throws {
        let bench = try await ScaleBench()
        var profile = HS4Device.Profile()
        profile.key = ScaleKey(Array(0..<16))
        let scale = try HS4Scale(at: bench.place, memory: try HS4Scale.mornings(2), profile: profile)
        let wrong = await bench.run(
            HS4Bench.plugin(),
            try HS4Bench.settings(scale.link, ",\"auth_key\":\"ffeeddccbbaa99887766554433221100\""))
        await bench.hub.wait { hub in hub.events.contains { $0.event == "error" && $0.code == 5 } }
        #expect(await bench.end(wrong) == .done)
        #expect(await bench.samples.isEmpty)
        let right = await bench.run(
            HS4Bench.plugin(),
            try HS4Bench.settings(scale.link, ",\"auth_key\":\"000102030405060708090a0b0c0d0e0f\""))
        await bench.hub.records(2)
        #expect(await bench.end(right) == .done)
    }

    @Test func `the unit of the display is switched and remembered`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS4Scale(at: bench.place)
        let run = await bench.run(HS4Bench.plugin(), try HS4Bench.settings(scale.link))
        _ = await bench.events("memory-end")
        #expect(try await bench.ask("units", #"{"unit":"lb"}"#) == #"{"unit":"lb"}"#)
        #expect(await bench.end(run) == .done)
        #expect(try await PluginState(directory: bench.place.state).integer("unit") == 2)
    }
}
