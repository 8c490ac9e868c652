import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import IHealthHS4

/// A simulated HS4 on a separate socket.
typealias HS4Scale = StandInScale<HS4Device>

extension StandInScale where Device == HS4Device {
    static var id: String { "020000004001" }

    /// - Parameter place: a directory of the test.
    convenience init(
        at place: TestPlace, memory: [HS4Record] = [], faults: StandInFaults = .init(),
        profile: HS4Device.Profile = .init()
    ) throws {
        var profile = profile
        profile.repeatAfter = .milliseconds(60)
        let path = place.state + "-scale"
        try self.init(
            HS4Device(profile: profile, memory: memory, faults: faults), own: "unix-accept://\(path)",
            link: "unix://\(path)", clock: ScaleBench.clock, zone: ScaleBench.zone)
    }

    /// Returns when the scale accepts connections; a plugin retries, a check does not.
    func waits() async {
        while access(String(link.dropFirst("unix://".count)), F_OK) != 0,
            (try? await Task.sleep(for: .milliseconds(1))) != nil
        {}
    }

    func step(on tenths: Int, when isTime: @escaping @Sendable (HS4Device) -> Bool = { _ in true }) {
        submit(.weigh(StandInWeighing(tenthsOfKilogram: tenths)), when: isTime)
    }

    /// Weighings on the mornings before the day of the tests, oldest first.
    static func mornings(_ count: Int) throws -> [HS4Record] {
        let first = try #require(WallTime("2026-07-01 07:10:03"))
        return try (0..<count).map { day in
            let time = try #require(first.adding(seconds: day * 43_455))
            return try #require(HS4Record(time, tenthsOfKilogram: 700 + day, more: 1))
        }
    }
}

enum HS4Bench {
    static func settings(_ link: String, _ more: String = "", auth: String = "local") throws -> RawJSON {
        try #require(
            RawJSON(
                """
                {"link":"\(link)","device_id":"\(HS4Scale.id)","user":1,"measure_layout":"unit-user",\
                "memory_tail":"parse-last-if-plausible","auth_mode":"\(auth)","auth_kind":"xxtea-v1"\(more)}
                """))
    }

    /// The plugin with time limits for a simulated scale.
    static func plugin() -> IHealthHS4 {
        var plugin = IHealthHS4()
        plugin.timing = ScaleTiming(pause: .milliseconds(5)) { settings in
            settings.timing.openAfter = .zero
            (settings.timing.firstResend, settings.timing.nextResend) = (.milliseconds(150), .milliseconds(150))
            (settings.timing.answerTimeout, settings.logInTimeout) = (.milliseconds(1500), .milliseconds(1500))
            (settings.weighingTimeout, settings.measureAgainAfter) = (.milliseconds(800), .milliseconds(20))
            settings.timing.partialFrameTimeout = .milliseconds(50)
        }
        return plugin
    }
}
