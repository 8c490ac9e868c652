import PluginKit
import ScaleBench
import Testing

@testable import IHealthHS3
@testable import ScaleProtocols

struct HS3MappingTests {
    static let mapping = WeighingMapping(
        source: Source(plugin: "ihealth-hs3", device: HS3Scale.device), clock: LocalClock(ScaleBench.zone))

    static func sample(_ reading: ScaleReading) throws -> Sample {
        let weighing = Weighing(
            key: KnownWeighings.Key(reading).text, time: .scale(try #require(reading.time), isSuspect: false),
            tenthsOfKilogram: reading.tenthsOfKilogram)
        let samples = mapping.samples(weighing)
        #expect(samples.count == 1)
        return try #require(samples.first)
    }

    /// The reading that the dialogue makes of a weighing.
    static func reading(_ key: HS3RecordKey, _ mode: HS3HourMode = .sdk12) -> ScaleReading? {
        var settings = HS3Host.Settings()
        settings.hourMode = mode
        var host = HS3Host(settings: settings)
        let moment = ScaleMoment(uptime: .zero, wall: .startOf2000)
        _ = host.handle(.linkOpened, at: moment)
        let frame = HS3Frame(checked: .scale, 0x28, 0, key.bytes)
        for case .deliver(let delivery) in host.handle(.received(frame.bytes), at: moment) {
            return delivery.readings.first
        }
        return nil
    }

    @Test func `weights are exactly the double of their decimal digits, at every tenth`() throws {
        for tenths in 0...1500 {
            let time = try #require(WallTime("2026-11-20 07:30:05"))
            let key = try #require(HS3Record(time, tenthsOfKilogram: tenths)?.key)
            let text = try HS3Bench.record(key)
            #expect(
                text.contains("\"value\":\(tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"),"))
            let sample = try Self.sample(try #require(Self.reading(key)))
            #expect(sample.value == .quantity(Double("\(tenths / 10).\(tenths % 10)") ?? -1, unit: "kg"))
            #expect(sample.encoded == text)
        }
    }

    @Test func `the hour mode is a setting and changes only the time`() throws {
        // 17:55:46 on 2018-01-04 as a 12-hour number, 21:55:46 as a 24-hour one (bytes from a capture).
        let key = try #require(HS3Record([0x48, 0x49, 0x5D, 0xEE, 0x07, 0x23])?.key)
        for (mode, hour) in [(HS3HourMode.sdk12, "17"), (.raw24, "21")] {
            let sample = try Self.sample(try #require(Self.reading(key, mode)))
            #expect(sample.start.text == "2018-01-04T\(hour):55:46+01:00")
            #expect(sample.key.text == "48495dee0723")
            #expect(sample.metadata?.text == "{\"local\":\"2018-01-04 \(hour):55:46\"}")
        }
    }
}
