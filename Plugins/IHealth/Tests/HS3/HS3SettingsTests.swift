import Foundation
import PluginKit
import Testing

@testable import IHealthHS3
@testable import ScaleProtocols

struct HS3SettingsTests {
    static func load(_ toml: String) -> SettingsFile {
        SettingsFile.load(
            text: toml, file: "my.conf", fileMode: 0o600, environment: .process(),
            declarations: IHealthHS3.manifest.settings)
    }

    static func settings(_ toml: String) throws -> ScaleSetup {
        try IHealthHS3().setup(PluginSettings(try #require(load(toml).settings)))
    }

    static func host(_ setup: ScaleSetup) throws -> HS3Host.Settings {
        try #require(setup.dialogue(setup.device) as? HS3Host).settings
    }

    @Test func `a Bluetooth link needs no other setting`() throws {
        let settings = try Self.settings(#"link = "rfcomm://00:4d:32:1a:2b:3c""#)
        #expect(settings.device == "004D321A2B3C")
        #expect(try Self.host(settings) == HS3Host.Settings())
        #expect(settings.zone == nil)
    }

    @Test func `every setting reaches the dialogue`() throws {
        let settings = try Self.settings(
            """
            link = "tcp://127.0.0.1:4711"
            device_id = "02:00:00:00:30:0a"
            zone = "Asia/Tokyo"
            set_clock = false
            hour_mode = "auto"
            clock_bcd = "bcd12"
            errors = ["55=1", "e2=7"]
            """)
        #expect(settings.device == "02000000300A")
        #expect(settings.zone?.identifier == "Asia/Tokyo")
        let host = try Self.host(settings)
        #expect(!host.setsClock)
        #expect(host.hourMode == .auto)
        #expect(host.clockMode == .bcd12)
        #expect(host.errors[0x55] == 1 && host.errors[0xE2] == 7 && host.errors[0xA0] == 1)
    }

    @Test(arguments: [
        ("", "link"), ("link = \"ble://x\"", "link"), ("link = \"tcp://h:1\"\nhour_mode = \"24\"", "hour_mode"),
        ("link = \"tcp://h:1\"\ndevice_id = \"12\"", "device_id"),
        ("link = \"tcp://h:1\"\nzone = \"Mars/Olympus\"", "zone"),
        ("link = \"tcp://h:1\"\nset_clock = \"yes\"", "set_clock"),
        ("link = \"tcp://h:1\"\nerrors = [\"55=9\"]", "errors"), ("link = \"tcp://h:1\"\nlinks = 1", "links"),
    ])
    func `hub check finds a wrong setting by its declaration`(toml: String, name: String) {
        let file = Self.load(toml)
        #expect(file.settings == nil)
        #expect(file.problems.contains { $0.description.contains(name) }, "\(file.problems)")
    }

    @Test(arguments: [
        ("link = \"tcp://127.0.0.1:4711\"", "setting device_id: it is needed"),
        (
            "link = \"rfcomm://00:4D:32\"",
            "setting link: link \"rfcomm://00:4D:32\": \"00:4D:32\" is not a Bluetooth address"
        ),
        (
            "link = \"rfcomm://00:4D:32:1A:2B:3C\"\ndevice_id = \"020000003001\"",
            "setting device_id: 020000003001 is not the scale of the link, 004D321A2B3C"
        ),
    ])
    func `an invalid setting that only the plugin can detect ends it with a message`(toml: String, words: String) throws
    {
        let failure = try #require(throws: PluginFailure.self) { _ = try Self.settings(toml) }
        #expect(failure.exit == .settings)
        #expect(failure.message.hasPrefix(words), "\(failure)")
    }

    @Test func `the zone is the setting's, otherwise the common one of all persons, otherwise the machine's`() throws {
        var settings = try Self.settings(#"link = "rfcomm://00:4D:32:1A:2B:3C""#)
        #expect(settings.clock(persons: ["Asia/Tokyo", "Asia/Tokyo"]).rule == "Asia/Tokyo sdk12")
        #expect(settings.clock(persons: ["Asia/Tokyo", "Europe/Berlin"]).rule == "machine sdk12")
        #expect(settings.clock(persons: ["Asia/Tokyo", nil]).rule == "machine sdk12")
        #expect(settings.clock(persons: []).clock.zone == TimeZone.current)
        settings.zone = HS3Scale.zone
        #expect(settings.clock(persons: ["Asia/Tokyo"]).rule == "Europe/Berlin sdk12")
    }
}
