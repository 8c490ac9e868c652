import Foundation
import PluginKit
import ScaleBench
import Testing

@testable import ScaleProtocols

/// The settings of each model, from a person's file to the dialogue.
struct SettingsTests {
    private static let tcp = "link = \"tcp://h:1\"\n"
    private static let bluetooth = "link = \"rfcomm://00:4d:32:1a:2b:3c\"\n"
    private static let key = "auth_key = \"000102030405060708090a0b0c0d0e0f\"\n"

    private func host<Host: ScaleDialogue>(_ setup: ScaleSetup) throws -> Host {
        try #require(setup.dialogue(setup.device) as? Host)
    }

    @Test func `a Bluetooth link needs no other setting`() throws {
        let settings = try ScaleModel.hs3.setup(Self.bluetooth)
        #expect(settings.device == "004D321A2B3C")
        let host: HS3Host = try host(settings)
        #expect(host.settings == HS3Host.Settings())
        #expect(settings.zone == nil)
    }

    @Test func `every setting of a HS3 reaches the dialogue`() throws {
        let settings = try ScaleModel.hs3.setup(
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
        let host: HS3Host = try host(settings)
        #expect(!host.settings.setsClock)
        #expect(host.settings.hourMode == .auto)
        #expect(host.settings.clockMode == .bcd12)
        let errors = host.settings.errors
        #expect(errors[0x55] == 1 && errors[0xE2] == 7 && errors[0xA0] == 1)
    }

    @Test func `every setting of a HS4 reaches the dialogue`() throws {
        let setup = try ScaleModel.hs4.setup(
            """
            link = "tcp://127.0.0.1:4711"
            device_id = "02:00:00:00:40:0a"
            framing = "spp"
            unit = "st"
            user = 77
            measure_layout = "user-unit"
            memory_tail = "drop-last"
            errors = ["55=1"]
            \(Self.key)
            """)
        let host: HS4Host = try host(setup)
        let settings = host.settings
        #expect(setup.device == "02000000400A" && setup.keyNotice == nil)
        #expect(settings.link == .serialPort && settings.unit == .stones && settings.user == 77)
        #expect(settings.measureLayout == .userFirst && settings.memoryTail == .drop)
        #expect(settings.errors[0x55] == 1 && settings.errors[0xE1] == 3)
        #expect(settings.key == ScaleKey(Array(0..<16)))
    }

    @Test func `no setting of a HS5 is required, and each one reaches the dialogue`() throws {
        #expect(try ScaleModel.hs5.setup("").link.description == "udp://*")
        let setup = try ScaleModel.hs5.setup(
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
            \(Self.key)
            """)
        let host: HS5Host = try host(setup)
        let settings = host.settings
        #expect(settings.scale?.description == "02000000500A" && settings.measures == 77)
        #expect(setup.muscleUnit == .kilograms)
        #expect(settings.memoryEvery == .seconds(300) && settings.errors[0x55] == 6)
        #expect(settings.cloud == .init(host: "scale.example.org", path: "/upload"))
        #expect(settings.key != nil && setup.keyNotice == nil)
    }

    @Test func `frames are whole on a serial port and in pieces elsewhere, and a missing key gives a notice`() throws {
        let bluetooth = try ScaleModel.hs4.setup(Self.bluetooth)
        let serial: HS4Host = try host(bluetooth)
        #expect(serial.settings.link == .serialPort)
        #expect(bluetooth.device == "004D321A2B3C")
        let bridge = try ScaleModel.hs4.setup("link = \"tcp://127.0.0.1:4711\"\ndevice_id = \"020000004001\"")
        let carried: HS4Host = try host(bridge)
        #expect(carried.settings.link == .lowEnergy)
        let notice = try #require(bridge.keyNotice)
        #expect(notice.split(separator: ". ").count == 2 && notice.contains("auth_key") && notice.contains("hsl"))
    }

    @Test func `an hsl link sends the unit of the display`() throws {
        let session: HSLSession = try host(
            try ScaleModel.hs4.setup("link = \"hsl://127.0.0.1:4714\"\nunit = \"lb\""))
        #expect(session.settings.unit == .pounds)
    }

    @Test(arguments: [
        ("", "link"), ("link = \"ble://x\"", "link"), ("\(tcp)hour_mode = \"24\"", "hour_mode"),
        ("\(tcp)device_id = \"12\"", "device_id"), ("\(tcp)zone = \"Mars/Olympus\"", "zone"),
        ("\(tcp)set_clock = \"yes\"", "set_clock"), ("\(tcp)errors = [\"55=9\"]", "errors"),
        ("\(tcp)links = 1", "links"),
    ])
    func `hub check finds a wrong setting by its declaration`(toml: String, name: String) {
        let file = ScaleModel.hs3.file(toml)
        #expect(file.settings == nil)
        #expect(file.problems.contains { $0.description.contains(name) }, "\(file.problems)")
    }

    @Test(arguments: [
        (ScaleModel.hs3, "link = \"tcp://127.0.0.1:4711\"", "setting device_id: it is needed"),
        (
            .hs3, "link = \"rfcomm://00:4D:32\"",
            "setting link: link \"rfcomm://00:4D:32\": \"00:4D:32\" is not a Bluetooth address"
        ),
        (
            .hs3, "\(bluetooth)device_id = \"020000003001\"",
            "setting device_id: 020000003001 is not the scale of the link, 004D321A2B3C"
        ),
        (.hs4, "\(tcp)device_id = \"020000004001\"\nauth_mode = \"bridge\"", "setting auth_mode"),
        (.hs4, tcp, "setting device_id"),
        (.hs5, "cloud_address = \"set\"", "setting cloud_address: \"set\" needs cloud_host"),
    ])
    func `an invalid setting that only the plugin can detect ends it with a message`(
        model: ScaleModel, toml: String, words: String
    ) throws {
        let failure = try #require(throws: PluginFailure.self) { _ = try model.setup(toml) }
        #expect(failure.exit == .settings && failure.message.hasPrefix(words), "\(failure)")
    }

    @Test func `the zone is the setting's, otherwise the common one of all persons, otherwise the machine's`() throws {
        var settings = try ScaleModel.hs3.setup(Self.bluetooth)
        #expect(settings.clock(persons: ["Asia/Tokyo", "Asia/Tokyo"]).rule == "Asia/Tokyo sdk12")
        #expect(settings.clock(persons: ["Asia/Tokyo", "Europe/Berlin"]).rule == "machine sdk12")
        #expect(settings.clock(persons: ["Asia/Tokyo", nil]).rule == "machine sdk12")
        #expect(settings.clock(persons: []).clock.zone == TimeZone.current)
        settings.zone = ScaleBench.zone
        #expect(settings.clock(persons: ["Asia/Tokyo"]).rule == "Europe/Berlin sdk12")
    }

    @Test func `no secret is printed`() throws {
        let host: HS4Host = try host(
            try ScaleModel.hs4.setup("\(Self.tcp)device_id = \"020000004001\"\n\(Self.key)"))
        #expect(!"\(host.settings)".contains("[0, 1, 2, 3"))
    }
}
