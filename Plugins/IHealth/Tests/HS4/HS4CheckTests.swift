import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import IHealthHS4

@Suite(.timeLimit(.minutes(1)))
struct HS4CheckTests {
    static func check(_ link: String, _ more: String = "") async throws -> String {
        let setup = try HS4SettingsTests.setup("link = \"\(link)\"\ndevice_id = \"\(HS4Scale.id)\"\n\(more)")
        let clock = try #require(HubClock(ScaleBench.clock))
        return try await ScaleCheck(setup, clock, patience: .seconds(5)).run()
    }

    @Test
    func `a check reports a scale that answers and the effect of a missing key, and changes nothing on the scale`()
        async throws
    {
        let place = try TestPlace()
        let scale = try HS4Scale(at: place, memory: try HS4Scale.mornings(2))
        await scale.waits()
        #expect(
            try await Self.check(scale.link)
                == "The HS4 020000004001 answers: Body Scale, firmware 1.0.1. Without auth_key a real HS4 lets no program in, "
                + "so this link serves a simulated scale alone. What works without the key is HSL/1: link = "
                + "\"hsl-accept://127.0.0.1:4714\" and a program there that uses the vendor's software.")
        await scale.stop()
        #expect(scale.device.memory.count == 2)
        #expect(!scale.events.contains { if case .clockSet = $0 { true } else { false } })
    }

    @Test func `a check performs the log-in`() async throws {
        let place = try TestPlace()
        var profile = HS4Device.Profile()
        profile.key = ScaleKey(Array(0..<16))
        let scale = try HS4Scale(at: place, profile: profile)
        await scale.waits()
        let found = try await Self.check(scale.link, "auth_key = \"000102030405060708090a0b0c0d0e0f\"")
        #expect(found == "The HS4 020000004001 answers: Body Scale, firmware 1.0.1.")
        let failure = try await #require(throws: PluginFailure.self) {
            _ = try await Self.check(scale.link, "auth_key = \"ff0102030405060708090a0b0c0d0e0f\"")
        }
        #expect(failure.exit == .unavailable && failure.message.contains("see auth_key"), "\(failure)")
        await scale.stop()
    }
}
