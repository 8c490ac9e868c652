import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import IHealthHS5

/// A simulated HS5 on a separate port of this machine.
typealias HS5Scale = StandInScale<HS5Device>

extension StandInScale where Device == HS5Device {
    static var id: String { "020000005001" }

    convenience init(
        users: [Int: UInt32] = [0: 1234], memory: [UInt32: [HS5Record]] = [:], faults: StandInFaults = .init(),
        profile: HS5Device.Profile = .init()
    ) throws {
        var profile = profile
        profile.repeatAfter = .milliseconds(60)
        var places: [HS5Position: UInt32] = [:]
        for (place, serial) in users { places[try #require(HS5Position(place))] = serial }
        let port = Ports.next()
        try self.init(
            HS5Device(profile: profile, users: places, memory: memory, faults: faults),
            own: "udp://127.0.0.1:1?bind=\(port)", link: "udp://127.0.0.1:\(port)?bind=0", clock: ScaleBench.clock,
            zone: ScaleBench.zone)
    }

    /// The vendor's sample values.
    static var body: HS5Record.Composition {
        HS5Record.Composition(fat: 477, water: 453, muscle: 413, bone: 22, visceralFat: 8, dailyCalories: 2502)
    }

    func step(
        on tenths: Int, _ composition: HS5Record.Composition? = body,
        when isTime: @escaping @Sendable (HS5Device) -> Bool = { _ in true }
    ) {
        submit(.weigh(StandInWeighing(tenthsOfKilogram: tenths, composition: composition)), when: isTime)
    }

    static func mornings(_ count: Int, from tenths: Int = 700) throws -> [HS5Record] {
        let first = try #require(WallTime("2026-07-01 07:10:03"))
        return try (0..<count).map { day in
            let time = try #require(first.adding(seconds: day * 43_455))
            return try #require(HS5Record(time, tenthsOfKilogram: tenths + day, body))
        }
    }
}

enum HS5Bench {
    static func settings(_ link: String, _ more: String = "", muscle: String = "pct", auth: String = "local")
        throws -> RawJSON
    {
        try #require(
            RawJSON(
                """
                {"link":"\(link)","muscle_unit":"\(muscle)","memory_every":"1min","cloud_address":"keep",\
                "auth_mode":"\(auth)","auth_kind":"xxtea-v1"\(more)}
                """))
    }

    /// The plugin with time limits for a simulated scale.
    ///
    /// - Parameters:
    ///   - memoryEvery: how often the measurement is interrupted to read weighings from the memory.
    ///   - weighingTimeout: maximum silence of the scale during a weighing.
    static func plugin(
        memoryEvery: Duration = .milliseconds(700), weighingTimeout: Duration = .milliseconds(1500)
    ) -> IHealthHS5 {
        var plugin = IHealthHS5()
        plugin.timing = ScaleTiming(pause: .milliseconds(5)) { settings in
            (settings.searchEvery, settings.repeatAfter) = (.milliseconds(200), .milliseconds(120))
            (settings.confirmAfter, settings.weighingTimeout) = (.milliseconds(10), weighingTimeout)
            (settings.memoryEvery, settings.busyPause) = (memoryEvery, .milliseconds(200))
        }
        return plugin
    }
}
