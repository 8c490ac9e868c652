import Foundation
import HubSettings
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import Testing

/// The rules for the plugins of all models.
@Suite(.timeLimit(.minutes(1)))
struct CommonTests {
    @Test(arguments: ScaleModel.allCases)
    func `the manifest is valid and renders exactly sample.conf`(model: ScaleModel) throws {
        func manifests<P: ScalePlugin>(_: P) -> (written: Manifest, full: Manifest) { (P.manifest, P.fullManifest) }
        let manifest = manifests(model.plugin)
        #expect(manifest.full.faults == [])
        let rendered = SampleConfiguration.render(
            instance: manifest.written.name, declarations: manifest.written.settings)
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../\(model.rawValue)/sample.conf").standardizedFileURL
        #expect(try String(contentsOf: file, encoding: .utf8) == rendered)
    }

    @Test(arguments: ScaleModel.allCases)
    func `an hsl link needs no key and no address, and passes the vendor's account on`(model: ScaleModel) throws {
        let setup = try model.setup(
            """
            link = "hsl://127.0.0.1:4714"
            user_id = "a@example.org"
            client_id = "id"
            client_secret = "secret"
            token = "t"
            """)
        #expect(setup.keyNotice == nil && setup.device == nil)
        let settings = try #require(setup.dialogue(nil) as? HSLSession).settings
        #expect(settings.model == model && settings.user.userID == "a@example.org")
        #expect(settings.token == HSLToken("t"))
    }

    @Test(arguments: ScaleModel.allCases)
    func `an hsl link that waits where other machines can connect needs a token`(model: ScaleModel) throws {
        let failure = try #require(throws: PluginFailure.self) {
            _ = try model.setup("link = \"hsl-accept://0.0.0.0:4714\"")
        }
        #expect(failure.exit == .settings && failure.message.hasPrefix("setting token"), "\(failure)")
    }

    @Test(arguments: ScaleModel.allCases)
    func `a new person accepts the disclaimer before anything is measured`(model: ScaleModel) async throws {
        let bench = try await ScaleBench()
        let bridge = try Bridge(model)
        let settings = "link = \"\(bridge.link)\"\nperson = \"me\""
        let run = try await bench.run(model, settings)
        await bench.hub.wait { hub in hub.events.contains { $0.event == "error" && $0.code == 111 } }
        let refusal = try #require(await bench.events("error").first { $0.code == 111 })
        let command = "hub do ihealth-\(model.rawValue.lowercased()) disclaimer accept=true"
        #expect(refusal.severity == .error && refusal.text?.contains(command) == true)
        #expect(bridge.events.isEmpty, "no link was opened")
        #expect(try await bench.ask("disclaimer", #"{"accept":true}"#).contains("\"accepted\":true"))
        bridge.step(on: 811)
        await bench.hub.records(1)
        #expect(await bench.events("authentication").contains { $0.code == 1 })
        let story = await bench.hub.events
        let (over, connected) = (story.firstIndex(where: \.isResolved), story.firstIndex { $0.event == "connected" })
        #expect(try #require(over) < #require(connected), "resolved events are withdrawn before the scale connects")
        #expect(await bench.end(run) == .done)
        let told = await bench.events("authentication").count
        let again = try await bench.run(model, settings)
        #expect(await bench.events("authentication", told + 1)[told].code == 2)
        #expect(await bench.end(again) == .done)
    }
}
