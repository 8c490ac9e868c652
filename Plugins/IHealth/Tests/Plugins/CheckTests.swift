import PluginKit
import PluginTesting
import ScaleBench
import ScaleSimulation
import ScaleStandIns
import Testing

@testable import ScaleProtocols

/// `hub check` of a scale's link.
@Suite(.timeLimit(.minutes(1)))
struct CheckTests {
    private func check(
        _ model: ScaleModel, _ toml: String, patience: Duration = .seconds(10)
    ) async throws -> String {
        let clock = try #require(HubClock(ScaleBench.clock))
        return try await ScaleCheck(try model.setup(toml), clock, patience: patience).run()
    }

    /// - Parameter more: for a HS3 or HS4, on which the link does not give the id.
    private func toml(_ link: String, _ id: String, _ more: String = "zone = \"Europe/Berlin\"") -> String {
        "link = \"\(link)\"\ndevice_id = \"\(id)\"\n\(more)"
    }

    @Test func `a check reports a scale that answers, and changes nothing on it`() async throws {
        let scale = try HS3Scale(memory: HS3Scale.memory(3), skew: 3600)
        let found = try await check(.hs3, toml(scale.link, HS3Scale.device))
        #expect(found.hasPrefix("The HS3 020000003001 answers; its clock is 3"), "\(found)")
        #expect(found.hasSuffix(" s fast."))
        await scale.stop()
        #expect(scale.acknowledged == [])
        let touched = scale.events.contains {
            switch $0 {
            case .scale(.clockSet), .scale(.transferStarted): true
            default: false
            }
        }
        #expect(!touched)
    }

    @Test func `a check also finds a scale that wants to deliver a weighing, and the scale keeps the weighing`()
        async throws
    {
        let scale = try HS3Scale(faults: ["early-weight"])
        let found = try await check(.hs3, toml(scale.link, HS3Scale.device))
        #expect(found == "The HS3 020000003001 answers; it has a weighing to deliver.")
        await scale.stop()
        #expect(scale.weighed.count == 1 && scale.acknowledged == [])
    }

    @Test func `a check of an absent scale fails and names the link`() async throws {
        let failure = try await #require(throws: PluginFailure.self) {
            _ = try await check(.hs3, toml("unix:///nowhere/scale.sock", HS3Scale.device))
        }
        #expect(failure.exit == .unavailable)
        #expect(
            failure.message
                == "unix:///nowhere/scale.sock: No such file or directory; is the bridge or simulator running there?")
    }

    @Test func `a check of a link without a scale fails with the reason`() async throws {
        let scale = try HS3Scale(faults: ["deaf=1"])
        let failure = try await #require(throws: PluginFailure.self) {
            _ = try await check(.hs3, toml(scale.link, HS3Scale.device), patience: .seconds(2))
        }
        #expect(failure.message.contains("nothing answers like an HS3"), "\(failure)")
    }

    /// A machine without Bluetooth cannot pair, and the other cases need pairing.
    @Test func `a check without Bluetooth fails with a remedy`() async throws {
        let failure = try await #require(throws: PluginFailure.self) {
            _ = try await check(.hs3, "link = \"rfcomm://02:00:00:00:30:01\"", patience: .seconds(2))
        }
        #expect(failure.exit == .unavailable)
        let help = ScaleCheck.help(try #require(BluetoothAddress("02:00:00:00:30:01")), .hs3)
        for words in ["bluetoothctl pair 02:00:00:00:30:01", "PIN 0000", "iHealth HS3"] {
            #expect(help.contains(words))
        }
        let hasBluetooth = ["no Bluetooth sockets", "no Bluetooth adapter"].allSatisfy { !failure.message.contains($0) }
        #expect(failure.message.hasSuffix(help) == hasBluetooth, "\(failure)")
    }

    @Test
    func `a check reports a scale that answers and the effect of a missing key, and changes nothing on the scale`()
        async throws
    {
        let place = try TestPlace()
        let scale = try HS4Scale(at: place, memory: try HS4Scale.mornings(2))
        await scale.waits()
        #expect(
            try await check(.hs4, toml(scale.link, HS4Scale.id), patience: .seconds(5))
                == "The HS4 020000004001 answers: Body Scale, firmware 1.0.1. Without auth_key a real HS4 lets no program in, "
                + "so this link serves a simulated scale alone. What works without the key is HSL/1: link = "
                + "\"hsl-accept://127.0.0.1:4714\" and a program there that uses the vendor's software.")
        await scale.stop()
        #expect(scale.device.memory.count == 2)
        #expect(!scale.events.contains { if case .clockSet = $0 { true } else { false } })
    }

    @Test func `a check performs the log-in`() async throws {
        var profile = HS4Device.Profile()
        profile.key = ScaleKey(Array(0..<16))
        let place = try TestPlace()
        let scale = try HS4Scale(at: place, profile: profile)
        await scale.waits()
        func check(_ start: String) async throws -> String {
            let key = "auth_key = \"\(start)0102030405060708090a0b0c0d0e0f\""
            return try await self.check(.hs4, toml(scale.link, HS4Scale.id, key), patience: .seconds(5))
        }
        #expect(try await check("00") == "The HS4 020000004001 answers: Body Scale, firmware 1.0.1.")
        let failure = try await #require(throws: PluginFailure.self) { _ = try await check("ff") }
        #expect(failure.exit == .unavailable && failure.message.contains("see auth_key"), "\(failure)")
    }

    @Test func `a check of a HS5 only finds the scale's id`() async throws {
        let scale = try HS5Scale(memory: [1234: try HS5Scale.mornings(2)])
        await scale.linked()
        let found = try await check(.hs5, "link = \"\(scale.link)\"", patience: .seconds(5))
        #expect(
            found.hasPrefix("The HS5 020000005001 answers: iHealth HS5, firmware 1.0.2. Without auth_key"), "\(found)")
        #expect(!scale.events.contains { if case .clockSet = $0 { true } else { false } })
    }
}
