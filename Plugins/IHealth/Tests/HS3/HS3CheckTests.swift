import PluginKit
import ScaleSimulation
import ScaleStandIns
import Testing

@testable import IHealthHS3
@testable import ScaleProtocols

@Suite(.timeLimit(.minutes(1)))
struct HS3CheckTests {
    static func check(_ link: String, patience: Duration = .seconds(10)) async throws -> String {
        let settings = PluginSettings([
            "link": .string(link), "device_id": .string(HS3Scale.device), "zone": .string("Europe/Berlin"),
            "set_clock": .boolean(true), "hour_mode": .string("sdk12"), "clock_bcd": .string("nearest"),
            "auth_mode": .string("local"),
        ])
        let clock = try #require(HubClock(HS3Scale.clock))
        return try await ScaleCheck(try IHealthHS3().setup(settings), clock, patience: patience).run()
    }

    @Test func `a check reports a scale that answers, and changes nothing on it`() async throws {
        let scale = try HS3Scale(memory: HS3Scale.memory(3), skew: 3600)
        let found = try await Self.check(scale.link)
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
        #expect(try await Self.check(scale.link) == "The HS3 020000003001 answers; it has a weighing to deliver.")
        await scale.stop()
        #expect(scale.weighed.count == 1 && scale.acknowledged == [])
    }

    @Test func `a check of an absent scale fails and names the link`() async throws {
        let failure = try await #require(throws: PluginFailure.self) {
            _ = try await Self.check("unix:///nowhere/scale.sock")
        }
        #expect(failure.exit == .unavailable)
        #expect(
            failure.message
                == "unix:///nowhere/scale.sock: No such file or directory; is the bridge or simulator running there?")
    }

    @Test func `a check of a link without a scale fails with the reason`() async throws {
        let scale = try HS3Scale(faults: ["deaf=1"])
        let failure = try await #require(throws: PluginFailure.self) {
            _ = try await Self.check(scale.link, patience: .seconds(2))
        }
        #expect(failure.message.contains("nothing answers like an HS3"), "\(failure)")
        await scale.stop()
    }

    /// A machine without Bluetooth cannot pair, and the other cases need pairing.
    @Test func `a check without Bluetooth fails with a remedy`() async throws {
        let settings = PluginSettings([
            "link": .string("rfcomm://02:00:00:00:30:01"), "set_clock": .boolean(true), "hour_mode": .string("sdk12"),
            "clock_bcd": .string("nearest"), "auth_mode": .string("local"),
        ])
        let failure = try await #require(throws: PluginFailure.self) {
            _ = try await ScaleCheck(try IHealthHS3().setup(settings), .system, patience: .seconds(2)).run()
        }
        #expect(failure.exit == .unavailable)
        let help = ScaleCheck.help(try #require(BluetoothAddress("02:00:00:00:30:01")), .hs3)
        for words in ["bluetoothctl pair 02:00:00:00:30:01", "PIN 0000", "iHealth HS3"] {
            #expect(help.contains(words))
        }
        let hasBluetooth = ["no Bluetooth sockets", "no Bluetooth adapter"].allSatisfy { !failure.message.contains($0) }
        #expect(failure.message.hasSuffix(help) == hasBluetooth, "\(failure)")
    }
}
