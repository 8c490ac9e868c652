import Foundation
import PluginKit
import ScaleProtocols
import Testing

@testable import IHealthHS4

struct HS4SettingsTests {
    static func load(_ toml: String) -> SettingsFile {
        SettingsFile.load(
            text: toml, file: "my.conf", fileMode: 0o600, environment: .process(),
            declarations: IHealthHS4.manifest.settings)
    }

    static func setup(_ toml: String) throws -> ScaleSetup {
        try IHealthHS4().setup(PluginSettings(try #require(load(toml).settings)))
    }

    static func host(_ setup: ScaleSetup) throws -> HS4Host.Settings {
        try #require(setup.dialogue(setup.device) as? HS4Host).settings
    }

    @Test func `every setting reaches the dialogue`() throws {
        let setup = try Self.setup(
            """
            link = "tcp://127.0.0.1:4711"
            device_id = "02:00:00:00:40:0a"
            framing = "spp"
            unit = "st"
            user = 77
            measure_layout = "user-unit"
            memory_tail = "drop-last"
            errors = ["55=1"]
            auth_key = "000102030405060708090a0b0c0d0e0f"
            """)
        let host = try Self.host(setup)
        #expect(setup.device == "02000000400A" && setup.keyNotice == nil)
        #expect(host.link == .serialPort && host.unit == .stones && host.user == 77)
        #expect(host.measureLayout == .userFirst && host.memoryTail == .drop)
        #expect(host.errors[0x55] == 1 && host.errors[0xE1] == 3)
        #expect(host.key == ScaleKey(Array(0..<16)))
    }

    @Test func `frames are whole on a serial port and in pieces elsewhere, and a missing key gives a notice`() throws {
        let bluetooth = try Self.setup("link = \"rfcomm://00:4D:32:1A:2B:3C\"")
        #expect(try Self.host(bluetooth).link == .serialPort)
        #expect(bluetooth.device == "004D321A2B3C")
        let bridge = try Self.setup("link = \"tcp://127.0.0.1:4711\"\ndevice_id = \"020000004001\"")
        #expect(try Self.host(bridge).link == .lowEnergy)
        let notice = try #require(bridge.keyNotice)
        #expect(notice.split(separator: ". ").count == 2 && notice.contains("auth_key") && notice.contains("hsl"))
    }

    @Test func `an hsl link sends the unit of the display`() throws {
        let setup = try Self.setup("link = \"hsl://127.0.0.1:4714\"\nunit = \"lb\"")
        #expect(try #require(setup.dialogue(nil) as? HSLDialogue).session.settings.unit == .pounds)
    }

    @Test(arguments: [
        ("link = \"tcp://h:1\"\ndevice_id = \"020000004001\"\nauth_mode = \"bridge\"", "setting auth_mode"),
        ("link = \"tcp://h:1\"", "setting device_id"),
    ])
    func `an invalid setting that only the plugin can detect ends it with a message`(toml: String, words: String) throws
    {
        let failure = try #require(throws: PluginFailure.self) { _ = try Self.setup(toml) }
        #expect(failure.exit == .settings && failure.message.hasPrefix(words), "\(failure)")
    }

    @Test func `no secret is printed`() throws {
        let setup = try Self.setup(
            "link = \"tcp://h:1\"\ndevice_id = \"020000004001\"\nauth_key = \"000102030405060708090a0b0c0d0e0f\"")
        #expect(!"\(try Self.host(setup))".contains("[0, 1, 2, 3"))
    }
}
