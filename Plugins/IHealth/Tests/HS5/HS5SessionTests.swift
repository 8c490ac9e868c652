import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import IHealthHS5

/// Complete sessions over UDP: simulated scale, real link, plugin, spool, hub.
@Suite(.timeLimit(.minutes(1)))
struct HS5SessionTests {
    static func weigh(
        _ tenths: Int, _ scale: HS5Scale, _ bench: ScaleBench, _ composition: HS5Record.Composition? = HS5Scale.body
    ) async {
        let count = await bench.hub.held.count
        scale.step(on: tenths, composition) { $0.isMeasuring }
        await bench.hub.records(count + (composition == nil ? 1 : 7))
    }

    @Test func `a weigh-in of the memory becomes one group of exactly seven records`() async throws {
        let bench = try await ScaleBench()
        let time = try #require(WallTime("2024-03-15 19:06:30"))
        let record = try #require(HS5Record(time, tenthsOfKilogram: 842, HS5Scale.body))
        let scale = try HS5Scale(users: [2: 1234], memory: [1234: [record]])
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link, ",\"zone\":\"Europe/Berlin\""))
        await bench.hub.records(7)
        #expect(await bench.end(run) == .done)
        let key = "18f3861e334a-000004d2"
        let expected: [(String, String, String, String, String)] = [
            ("weight", "84.2", "kg", "", ",\"scaleUser\":1234,\"raw\":\"18f3861e334a01dd01c5019d160809c6\""),
            ("bodyFatPercentage", "0.477", "%", "-fat", ""),
            ("x.ihealth.bodyWaterPercentage", "0.453", "%", "-water", ""),
            ("x.ihealth.musclePercentage", "0.413", "%", "-muscle", ""), ("hc.boneMass", "2.2", "kg", "-bone", ""),
            ("x.ihealth.visceralFatLevel", "8", "count", "-visceral", ""),
            ("x.ihealth.dailyCalorieIntake", "2502", "kcal/d", "-dci", ""),
        ]
        let samples = await bench.samples
        #expect(samples.count == expected.count)
        for (sample, part) in zip(samples, expected) {
            let text = sample.encoded
            #expect(text.contains("\"type\":\"\(part.0)\",\"value\":\(part.1),\"unit\":\"\(part.2)\""), "\(text)")
            #expect(sample.key.text == key + part.3 && sample.group == key)
            #expect(sample.subject == .slot(2) && sample.source.device == HS5Scale.id && sample.zone == "Europe/Berlin")
            #expect(sample.start.text == "2024-03-15T19:06:30+01:00")
            #expect(sample.metadata?.text == "{\"local\":\"2024-03-15 19:06:30\"\(part.4)}")
        }
        #expect(await bench.hub.violations == [])
    }

    @Test func `an idle scale with five users sends events for new records only`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS5Scale(users: [0: 1, 1: 2, 2: 3, 3: 4, 4: 5])
        // Each list of the users is followed by a check of all memories.
        let run = await bench.run(HS5Bench.plugin(memoryEvery: .seconds(600)), try HS5Bench.settings(scale.link))
        _ = await bench.events("memory-end", 5)
        for _ in 0..<8 { _ = await bench.hub.command("users-list") }
        let time = try #require(WallTime("2026-11-19 07:30:05"))
        scale.submit(.store(StandInWeighing(tenthsOfKilogram: 700, composition: HS5Scale.body, user: 3), at: time))
        while scale.device.memory[3]?.isEmpty != false { try await Task.sleep(for: .milliseconds(1)) }
        _ = await bench.hub.command("users-list")
        await bench.hub.records(7)
        let counts = await bench.events("memory", 6).map { $0.data?.text ?? "" }
        #expect(counts == Array(repeating: #"{"count":0}"#, count: 5) + [#"{"count":1}"#])
        _ = await bench.events("memory-end", 6)
        #expect(await bench.end(run) == .done)
        let events = await bench.hub.events
        #expect(events.count { $0.event == "memory-end" } == 6 && events.count { $0.event == "users" } == 1)
        #expect(events.count { $0.event == "error" && $0.code == 14 } == 1, "\(events.map(\.event))")
    }

    @Test func `memories of all users and weighings arrive once, each with its slot`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS5Scale(
            users: [0: 1234, 5: 77], memory: [1234: try HS5Scale.mornings(20), 77: try HS5Scale.mornings(3, from: 900)])
        // If the memory were read while a person steps on, the scale would assign the weighing to its first user.
        let plugin = HS5Bench.plugin(memoryEvery: .seconds(600))
        let run = await bench.run(plugin, try HS5Bench.settings(scale.link, ",\"user\":77"))
        await bench.hub.records(23 * 7)
        await Self.weigh(811, scale, bench)
        await Self.weigh(812, scale, bench, nil)
        #expect(await bench.end(run) == .done)
        #expect(
            await bench.weights.sorted() == ((700..<720).map { Double($0) / 10 } + [81.1, 81.2, 90, 90.1, 90.2]))
        let samples = await bench.samples
        #expect(samples.filter { $0.subject == .slot(0) }.count == 20 * 7)
        #expect(samples.filter { $0.subject == .slot(5) }.count == 3 * 7 + 8)
        let live = try #require(samples.first { $0.value == .quantity(81.1, unit: "kg") })
        #expect(live.metadata?.text.contains("\"impedanceWeight\":81.1") == true)
        let alone = try #require(samples.last)
        #expect(alone.metadata?.text == "{\"datedByHub\":true,\"scaleUser\":77}")
        #expect(await bench.hub.lives.contains { $0.value == 81.1 && $0.subject == .slot(5) })
        #expect(await bench.hub.duplicates == 0)
    }

    @Test func `the only user's measurement is kept open without a setting`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS5Scale()
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        await Self.weigh(811, scale, bench)
        #expect(await bench.end(run) == .done)
        #expect(await bench.weights == [81.1])
    }

    /// A log-in, a memory of three and a weighing are 900 bytes; a cut loses the datagram and closes the scale's port.
    @Test(arguments: ScaleBench.cuts(of: 910))
    func `a link cut at any byte loses nothing and doubles nothing`(bytes: [Int]) async throws {
        try await ScaleBench.eachAtOnce(bytes) { byte in
            let bench = try await ScaleBench()
            let scale = try HS5Scale(memory: [1234: try HS5Scale.mornings(3)])
            scale.cut(after: byte)
            let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
            scale.step(on: 812) { $0.isMeasuring }
            await bench.hub.records(4 * 7)
            while !(scale.device.memory.values.allSatisfy(\.isEmpty) && scale.device.isIdle) {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(await bench.end(run) == .done, "cut at \(byte)")
            #expect(await bench.weights.sorted() == [70, 70.1, 70.2, 81.2], "cut at \(byte)")
            #expect(await bench.samples.count == 4 * 7, "cut at \(byte)")
        }
    }

    @Test func `muscle in kilograms is a type that this plugin declares`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS5Scale(memory: [1234: try HS5Scale.mornings(1)])
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link, muscle: "kg"))
        await bench.hub.records(7)
        #expect(await bench.end(run) == .done)
        let muscle = await bench.samples.first { $0.type.rawValue == "x.ihealth.muscleMass" }
        #expect(muscle?.value == .quantity(41.3, unit: "kg"))
        #expect(await bench.hub.violations == [])
    }

    @Test func `a scale with a log-in is accessed with its key`() async throws {
        let bench = try await ScaleBench()
        var profile = HS5Device.Profile()
        profile.key = ScaleKey(Array(0..<16))
        let scale = try HS5Scale(memory: [1234: try HS5Scale.mornings(2)], profile: profile)
        let key = ",\"auth_key\":\"000102030405060708090a0b0c0d0e0f\""
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link, key))
        await bench.hub.records(2 * 7)
        #expect(await bench.end(run) == .done)
    }

    @Test(arguments: ["deaf=4", "lose=5", "bad-checksum=4", "repeat=2", "power-off=15", "busy=2"])
    func `a fault of the network or the scale loses nothing and doubles nothing`(fault: String) async throws {
        let bench = try await ScaleBench()
        let scale = try HS5Scale(memory: [1234: try HS5Scale.mornings(34)], faults: try StandInFaults(fault))
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        await bench.hub.records(34 * 7)
        #expect(await bench.end(run) == .done)
        #expect(await bench.weights.sorted() == (700..<734).map { Double($0) / 10 })
        #expect(await bench.hub.duplicates == 0)
    }

    @Test(arguments: [4, 0])
    func `a composition that arrives later from the memory joins the weight that was shown`(
        earlier: Int
    ) async throws {
        let bench = try await ScaleBench()
        let scale = try HS5Scale()
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        await Self.weigh(812, scale, bench, nil)
        let shown = try #require(await bench.samples.first?.start.text.prefix(19).replacing("T", with: " "))
        let time = try #require(WallTime(shown)?.adding(seconds: -earlier))
        scale.submit(
            .store(StandInWeighing(tenthsOfKilogram: 812, composition: HS5Scale.body, user: 1234), at: time))
        await bench.hub.records(7)
        #expect(await bench.end(run) == .done)
        let samples = await bench.samples
        #expect(samples.count == 7)
        #expect(await bench.hub.violations == [])
        #expect(Set(samples.map(\.group)).count == 1 && Set(samples.map(\.start)).count == 1)
    }

    /// Checks that there is one complete weighing: its weight, its composition, and the impedance weight.
    private static func isWhole(_ bench: ScaleBench) async {
        let samples = await bench.samples
        #expect(samples.count == 7)
        #expect(Set(samples.map(\.group)).count == 1 && Set(samples.map(\.start)).count == 1)
        #expect(samples.first?.metadata?.text.contains("\"impedanceWeight\":81.2") == true)
        #expect(samples.first?.metadata?.text.contains("\"raw\"") == true)
        #expect(await bench.hub.violations == [])
    }

    /// The host stops waiting for the composition after 300 ms here.
    @Test(arguments: [FamilyCommand.impedanceWeight, .composition, .end], [100, 290, 400, 1000, 3000])
    func `a scale that is silent during a weighing gives one weighing`(
        before command: FamilyCommand, milliseconds: Int
    ) async throws {
        let bench = try await ScaleBench()
        var faults = StandInFaults()
        faults.silence[command] = .milliseconds(milliseconds)
        let scale = try HS5Scale(faults: faults)
        let plugin = HS5Bench.plugin(weighingTimeout: .milliseconds(300))
        let run = await bench.run(plugin, try HS5Bench.settings(scale.link))
        scale.step(on: 812) { $0.isMeasuring }
        await bench.hub.records(7)
        while !scale.device.isIdle { try await Task.sleep(for: .milliseconds(5)) }
        #expect(await bench.end(run) == .done)
        await Self.isWhole(bench)
    }

    @Test(arguments: [false, true])
    func `a link that ends between the weight and its composition leaves one weighing`(isGivenUp: Bool) async throws {
        let bench = try await ScaleBench()
        var faults = StandInFaults()
        faults.silence[.composition] = .seconds(20)
        let scale = try HS5Scale(faults: faults)
        let plugin = HS5Bench.plugin(weighingTimeout: .milliseconds(isGivenUp ? 100 : 5000))
        let run = await bench.run(plugin, try HS5Bench.settings(scale.link))
        scale.step(on: 812) { $0.isMeasuring }
        if isGivenUp {
            await bench.hub.records(1)
        } else {
            // The second value is the impedance weight.
            await bench.hub.wait { $0.lives.count { $0.value == 81.2 } >= 2 }
        }
        scale.cut()
        await bench.hub.records(7)
        #expect(await bench.end(run) == .done)
        let samples = await bench.samples
        #expect(samples.count == 7 && Set(samples.map(\.start)).count == 1 && Set(samples.map(\.group)).count == 1)
    }

    @Test func `the plugin binds to the first scale that answers and ignores others`() async throws {
        let bench = try await ScaleBench()
        let scale = try HS5Scale(memory: [1234: try HS5Scale.mornings(1)])
        let first = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        await bench.hub.records(7)
        #expect(await bench.end(first) == .done)
        await scale.stop()
        var profile = HS5Device.Profile()
        profile.id = try #require(HS5SenderID([2, 0, 0, 0, 0x50, 2]))
        let other = try HS5Scale(memory: [1234: try HS5Scale.mornings(2, from: 600)], profile: profile)
        let second = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(other.link))
        await bench.hub.hellos(2)
        try await Task.sleep(for: .milliseconds(600))
        #expect(await bench.end(second) == .done)
        #expect(await bench.weights == [70])
        #expect(!other.events.contains { if case .sessionOpened = $0 { true } else { false } })
    }
}
