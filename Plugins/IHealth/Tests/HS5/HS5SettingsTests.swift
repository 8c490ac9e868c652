import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import IHealthHS5

struct HS5SettingsTests {
    static func load(_ toml: String) -> SettingsFile {
        SettingsFile.load(
            text: toml, file: "my.conf", fileMode: 0o600, environment: .process(),
            declarations: IHealthHS5.manifest.settings)
    }

    static func setup(_ toml: String) throws -> ScaleSetup {
        try IHealthHS5().setup(PluginSettings(try #require(load(toml).settings)))
    }

    @Test func `no setting is required, and each one reaches the dialogue`() throws {
        #expect(try Self.setup("").link.description == "udp://*")
        let setup = try Self.setup(
            """
            link = "udp://192.168.1.20?bind=0"
            device_id = "02:00:00:00:50:0a"
            user = 77
            muscle_unit = "kg"
            memory_every = "5min"
            cloud_address = "set"
            cloud_host = "scale.example.org"
            cloud_path = "/upload"
            errors = ["55=6"]
            auth_key = "000102030405060708090a0b0c0d0e0f"
            """)
        let host = try #require(setup.dialogue(setup.device) as? HS5Host).settings
        #expect(host.scale?.description == "02000000500A" && host.measures == 77 && setup.muscleUnit == .kilograms)
        #expect(host.memoryEvery == .seconds(300) && host.errors[0x55] == 6)
        #expect(host.cloud == .init(host: "scale.example.org", path: "/upload"))
        #expect(host.key != nil && setup.keyNotice == nil)
    }

    @Test func `setting the cloud's address requires one`() throws {
        let failure = try #require(throws: PluginFailure.self) { _ = try Self.setup("cloud_address = \"set\"") }
        #expect(failure.message.contains("cloud_host"))
    }

    @Test(.timeLimit(.minutes(1))) func `the check only finds the scale's id`() async throws {
        let scale = try HS5Scale(memory: [1234: try HS5Scale.mornings(2)])
        await scale.linked()
        let setup = try Self.setup("link = \"\(scale.link)\"")
        let clock = try #require(HubClock(ScaleBench.clock))
        let found = try await ScaleCheck(setup, clock, patience: .seconds(5)).run()
        #expect(
            found.hasPrefix("The HS5 020000005001 answers: iHealth HS5, firmware 1.0.2. Without auth_key"), "\(found)")
        #expect(!scale.events.contains { if case .clockSet = $0 { true } else { false } })
        await scale.stop()
    }
}
