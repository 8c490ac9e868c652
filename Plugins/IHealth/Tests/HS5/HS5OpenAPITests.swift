import Foundation
import IHealthCloudSimulation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import Testing
import WebFaults

@testable import IHealthHS5

/// Records that a HS5 has sent to the vendor's cloud, fetched from a simulated one on a real socket.
@Suite(.timeLimit(.minutes(1)))
struct HS5OpenAPITests {
    private func run(_ cloud: VendorCloud, _ scale: HS5Scale, _ bench: ScaleBench) async throws -> PluginRun {
        let settings = cloud.settings.filter { $0.name != "auth_mode" }.map { ",\"\($0.name)\":\"\($0.value)\"" }
        return await bench.run(
            HS5Bench.plugin(),
            try HS5Bench.settings(scale.link, settings.joined() + ",\"user\":1234", auth: "openapi"))
    }

    @Test func `the cloud's records join those of the scale, page by page, each once`() async throws {
        let (bench, cloud) = (try await ScaleBench(), try await VendorCloud())
        let memory = try HS5Scale.mornings(3)
        let scale = try HS5Scale(memory: [1234: memory])
        let summer = try #require(WallTime("2026-03-29 03:00:00"))
        var weights = try (0..<120).map { day in
            let time = try #require(WallTime("2026-03-01 07:10:03")?.adding(seconds: day * 43_455))
            var weight = IHealthCloud.Weight(
                "d\(day)", date: time.secondsSince2000 + 946_684_800, weight: 60 + Double(day) / 10)
            weight.zone = time < summer ? "+0100" : 200
            return weight
        }
        // The last three are those of the scale's memory, in summer.
        for (place, record) in memory.enumerated() {
            let time = try #require(record.time)
            var weight = IHealthCloud.Weight(
                "m\(place)", date: time.secondsSince2000 + 946_684_800, weight: 70 + Double(place) / 10)
            (weight.zone, weight.fat, weight.water, weight.muscle) = (200, 47.7, 45.3, 41.3)
            (weight.bone, weight.visceral, weight.calories) = (2.2, 8, 2502)
            weights.append(weight)
        }
        weights[5].source = "Manual"
        weights[6].weight = 500
        weights[7].zone = "-0800"
        cloud.service.put(weights)
        try await cloud.link(bench)
        let run = try await run(cloud, scale, bench)
        await bench.hub.records(3 * 7)
        _ = await bench.events("memory-end")
        let result = try await bench.ask("cloud", #"{"from":"2026-01-01"}"#)
        #expect(result == #"{"manual":1,"records":121,"unreadable":1}"#)
        await bench.hub.records(3 * 7 + 118)
        #expect(try await bench.ask("cloud").hasPrefix("{"), "also the second time")
        #expect(await bench.end(run) == .done)
        let samples = await bench.samples
        #expect(samples.count == 3 * 7 + 118)
        #expect(await bench.hub.duplicates == 0)
        #expect(await bench.hub.violations == [])
        #expect(samples.allSatisfy { $0.subject == .slot(0) && $0.source.device == HS5Scale.id })
        let suspect = samples.filter { $0.metadata?.text.contains("clockSuspect") == true }
        #expect(suspect.map(\.value) == [.quantity(60.7, unit: "kg")], "its date is meant in another zone")
        #expect(cloud.service.requests.filter { $0.contains("weight.json") }.count >= 7)
    }

    @Test(arguments: [(1, 158.73, 72.0), (2, 11.338, 72.0)])
    func `pounds and stones are converted to kilograms`(unit: Int, value: Double, kilograms: Double) async throws {
        let (bench, cloud, scale) = (try await ScaleBench(), try await VendorCloud(), try HS5Scale())
        var weight = IHealthCloud.Weight("a", date: 1_772_349_003, weight: value)
        (weight.fat, weight.bone) = (20.1, 5)
        cloud.service.put([weight], unit: unit)
        try await cloud.link(bench)
        let run = try await run(cloud, scale, bench)
        _ = await bench.events("connected")
        #expect(try await bench.ask("cloud").hasPrefix("{"))
        await bench.hub.records(2)
        #expect(await bench.end(run) == .done)
        #expect(await bench.weights == [kilograms])
        #expect(
            await bench.samples.map(\.type.rawValue) == ["weight", "bodyFatPercentage"], "no bone in an unknown unit")
    }
}
