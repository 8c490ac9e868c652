import Foundation
import HubSettings
import HubWire
import PluginKit
import Testing

@testable import SAMI

@Suite struct SettingsTests {
    private func settings(_ more: [String: SettingValue] = [:]) throws -> SAMISettings {
        let own: [String: SettingValue] = [
            "base": .string("http://127.0.0.1:8790/v1.1"), "client_id": .string("c"), "plain_http": .boolean(false),
            "dialect": .string("sami"), "redirect": .string("http://127.0.0.1:8737/"), "grant": .string("implicit"),
            "poll_every": .string("15min"), "overlap": .string("7d"), "full_every": .string("30d"), "post": .list([]),
            "post_by": .string("websocket"),
        ]
        return try SAMISettings(PluginSettings(own.merging(more) { $1 }))
    }

    @Test func `The manifest is sound, and sample.conf matches it`() throws {
        #expect(SAMI.fullManifest.faults == [])
        let rendered = SampleConfiguration.render(instance: SAMI.manifest.name, declarations: SAMI.manifest.settings)
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(
            path: "sample.conf")
        #expect(try String(contentsOf: file, encoding: .utf8) == rendered)
    }

    @Test func `The addresses of the log-in and of the WebSockets follow from the base unless they are set`() throws {
        let near = try settings()
        #expect("\(near.accounts)" == "http://127.0.0.1:8790" && near.webSocket == "ws://127.0.0.1:8790/v1.1")
        let far = try settings([
            "base": .string("https://api.samsungsami.io/v1.1"), "accounts": .string("https://accounts.samsungsami.io"),
            "websocket": .string("wss://live.samsungsami.io/v1.1/"),
        ])
        #expect("\(far.accounts)" == "https://accounts.samsungsami.io")
        #expect(far.webSocket == "wss://live.samsungsami.io/v1.1")
    }

    @Test func `Addresses of other machines must be encrypted unless a setting allows otherwise`() throws {
        for (name, address) in [
            ("base", "http://10.0.0.1/v1.1"), ("accounts", "http://10.0.0.1"), ("websocket", "ws://10.0.0.1/v1.1"),
        ] {
            #expect(throws: PluginFailure.self) { try settings([name: .string(address)]) }
            #expect(throws: Never.self) { try settings([name: .string(address), "plain_http": .boolean(true)]) }
        }
    }

    @Test func `The code grant requires the client secret`() throws {
        #expect(throws: PluginFailure.self) { try settings(["grant": .string("code")]) }
        #expect(throws: Never.self) { try settings(["grant": .string("code"), "client_secret": .secret(Secret("s"))]) }
    }
}
