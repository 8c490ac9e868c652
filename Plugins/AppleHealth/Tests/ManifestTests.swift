import Foundation
import HubSettings
import HubWire
import PluginKit
import Testing

@testable import AppleHealth

@Suite struct ManifestTests {
    @Test func `The manifest is sound, and sample.conf matches it`() throws {
        #expect(AppleHealth.manifest.faults.isEmpty)
        let rendered = SampleConfiguration.render(
            instance: AppleHealth.manifest.name, declarations: AppleHealth.manifest.settings)
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../sample.conf")
        #expect(try String(contentsOf: file, encoding: .utf8) == rendered)
    }

    @Test func `Invalid settings are refused with a suggestion`() throws {
        let plugin = AppleHealth()
        try plugin.judge(PluginSettings(["folder": .string("/tmp"), "look_every": .string("10s")]))
        let wrong = PluginSettings([
            "folder": .string("/tmp"), "look_every": .string("10s"), "types": .list([.string("wieght")]),
        ])
        let error = #expect(throws: PluginFailure.self) { try plugin.judge(wrong) }
        #expect(error?.message == "setting types: there is no type wieght; did you mean weight?")
        let several = PluginSettings([
            "folder": .string("/tmp"), "look_every": .string("10s"), "account": .string("a\nb"),
            "types": .list([.string("wieght"), .string("hart")]), "since": .string("1.3."), "until": .string("never"),
        ])
        let failure = #expect(throws: PluginFailure.self) { try plugin.judge(several) }
        #expect(failure?.reasons.count == 5, "\(failure?.reasons ?? [])")
    }
}
