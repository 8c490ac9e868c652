import Foundation
import HubProcess
import Testing

/// `hub check` and `hub apply` ask the programs of the plugins about their settings.
@Suite(.serialized) struct CheckSettingsTests {
    @Test func `hub check finds errors that only a plugin can judge before the plugin is started`() async throws {
        let host = try HubHost(
            plugins: """
                [plugin.ihealth-hs3]
                link = "tcp://127.0.0.1:99999"
                device_id = "020000003001"

                [plugin.ihealth-hs4]
                link = "hsl-accept://0.0.0.0:4714"

                [plugin.json-lines]
                path = "/etc/passwd/records"

                [plugin.gap-filler]
                zone = "Europe/Berlin"

                [plugin.ihealth-hs5]
                enabled = false
                link = "udp://127.0.0.1:99999"
                """)
        let (status, lines, _) = try await host.command("check")
        #expect(status == 65)
        for (instance, words) in [
            ("ihealth-hs3] link: link", "there is no port from 1 to 65535 at its end"),
            (
                "ihealth-hs4] token:",
                "it is needed, because hsl-accept://0.0.0.0:4714 waits where other machines can come"
            ),
            ("json-lines] path = \"/etc/passwd/records\":", "/etc/passwd is a file"),
            ("gap-filler] zone = \"Europe/Berlin\":", "it counts only with day_zone"),
        ] {
            #expect(lines.contains { $0.contains("[plugin.\(instance)") && $0.contains(words) }, "\(lines)")
        }
        #expect(lines.last?.hasSuffix(": 4 errors") == true, "\(lines)")
    }

    @Test func `a running hub does not apply an impossible link, and runs on`() async throws {
        let host = try HubHost(
            plugins: "[plugin.ihealth-hs3]\nlink = \"tcp://127.0.0.1:9\"\ndevice_id = \"020000003001\"")
        let hub = try await host.start()
        try host.edit { $0.replacing("127.0.0.1:9", with: "127.0.0.1:99999") }
        let (status, lines, errors) = try await host.command("apply")
        #expect(status != 0)
        #expect((lines + errors).contains { $0.contains("there is no port from 1 to 65535") }, "\(lines) \(errors)")
        try host.edit { $0.replacing("127.0.0.1:99999", with: "127.0.0.1:9") }
        #expect(try await host.command("apply").status == 0)
        #expect(await hub.stop() == 0)
    }
}
