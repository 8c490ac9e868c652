import IHealthCloudSimulation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import Testing
import WebFaults

/// The verification of every model by the vendor's Open API, with its stand-in at a real socket.
@Suite(.timeLimit(.minutes(1)))
struct OpenAPITests {
    private func run(_ model: ScaleModel, _ cloud: VendorCloud, _ bridge: Bridge, _ bench: ScaleBench)
        async throws -> PluginRun
    {
        let settings = [("link", bridge.link)] + cloud.settings
        return try await bench.run(model, settings.map { "\($0.0) = \"\($0.1)\"" }.joined(separator: "\n"))
    }

    private func weigh(_ bridge: Bridge, _ bench: ScaleBench) async {
        bridge.step(on: 811)
        await bench.hub.records(1)
        #expect(await bench.samples.map(\.value) == [.quantity(81.1, unit: "kg")])
    }

    @Test(arguments: ScaleModel.allCases)
    func `no person is measured before the account is linked, and after hub login the plugin goes on`(
        model: ScaleModel
    ) async throws {
        let (bench, cloud, bridge) = (try await ScaleBench(), try await VendorCloud(), try Bridge(model))
        let run = try await run(model, cloud, bridge, bench)
        await bench.hub.wait { hub in hub.events.contains { $0.event == "error" && $0.code == 111 } }
        #expect(await bench.events("authentication").map(\.code) == [5])
        #expect(await bench.events("error").first?.text?.contains("hub login") == true)
        #expect(bridge.events.isEmpty, "no link was opened")
        guard case .done = try await cloud.logIn(bench) else {
            Issue.record("the log-in failed")
            return
        }
        #expect(await bench.events("authentication", 2)[1].code == 3)
        await weigh(bridge, bench)
        #expect(await bench.end(run) == .done)
        #expect(await bench.hub.tokens["ihealth"]?.json?.text.contains("u1b2c3d4") == true)
    }

    private static let faults = ["status=503", "cut-before", "html", "half", "too-many=3600"]

    @Test(arguments: ScaleModel.allCases)
    func `an unreachable cloud gives 4, the trial of ten days, and 8 on a HS5, which has no trial`(
        model: ScaleModel
    ) async throws {
        // Side by side, because each waits before it asks again.
        try await ScaleBench.eachAtOnce(Array(Self.faults.indices)) { place in
            let (bench, cloud, bridge) = (try await ScaleBench(), try await VendorCloud(), try Bridge(model))
            try await cloud.link(bench)
            cloud.standIn.faults.add([try Fault(Self.faults[place])])
            let run = try await run(model, cloud, bridge, bench)
            #expect(
                await bench.events("authentication").first?.code == (model == .hs5 ? 8 : 4), "\(Self.faults[place])")
            if model != .hs5 { await weigh(bridge, bench) }
            #expect(await bench.end(run) == .done)
            if model == .hs5 { #expect(await bench.samples.isEmpty) }
        }
    }

    @Test(arguments: ["2019-11-20T12:00:00Z", "2033-11-20T12:00:00Z"])
    func `the cloud is asked once a day, also after the hub's clock was set by years`(start: String) async throws {
        let (bench, cloud, bridge) = (try await ScaleBench(), try await VendorCloud(), try Bridge(.hs4))
        try await cloud.link(bench)
        // A day passes in a second, but the scale answers in real time.
        await bench.hub.change { $0.clock = "2026-11-20T12:00:00Z@86400" }
        let run = try await run(.hs4, cloud, bridge, bench)
        _ = await bench.events("authentication")
        await bench.hub.change { $0.clock = "\(start)@86400" }
        await bench.hub.forgetSessions()
        _ = await bench.hub.hellos(2)
        // One question may have been under way.
        let enough = cloud.service.requests.count + 3
        await bench.hub.wait { _ in cloud.service.requests.count >= enough }
        let codes = await bench.events("authentication").map(\.code)
        #expect(Set(codes).isSubset(of: [2, 3]), "linked, says the cloud; logged in, says the bridge")
        #expect(await bench.end(run) == .done)
    }

    /// The change of the account, and the code that the person gets.
    enum Change: Int64, CaseIterable {
        case tokenEnded = 3
        case refused = 5
        case softwareRefused = 6
    }

    @Test(arguments: ScaleModel.allCases, Change.allCases)
    func `a refused account gives 5, a refused application 6, and an expired token is renewed`(
        model: ScaleModel, change: Change
    ) async throws {
        let (bench, cloud, bridge) = (try await ScaleBench(), try await VendorCloud(), try Bridge(model))
        try await cloud.link(bench)
        cloud.service.end(access: true, refresh: change == .refused)
        if change == .softwareRefused { cloud.service.change { $0.secret = "other" } }
        let run = try await run(model, cloud, bridge, bench)
        #expect(await bench.events("authentication").first?.code == change.rawValue)
        #expect(await bench.end(run) == .done)
    }

    @Test(arguments: ScaleModel.allCases)
    func `missing settings are named, and local settings have no log-in`(model: ScaleModel) async throws {
        let incomplete = try model.settings(
            """
            link = "hsl://127.0.0.1:1"
            auth_mode = "openapi"
            client_id = "a"
            client_secret = "b"
            """)
        let failure = try #require(throws: PluginFailure.self) { _ = try model.plugin.setup(incomplete) }
        #expect(failure.message.contains("not set: openapi_sc, openapi_sv, openapi_redirect"))
        let (bench, bridge) = (try await ScaleBench(), try Bridge(model))
        let run = try await bench.run(model, "link = \"\(bridge.link)\"")
        _ = await bench.events("connected")
        let refusal = try await bench.ask("login")
        #expect(refusal.hasPrefix("settings: ") && refusal.contains("auth_mode"), "\(refusal)")
        #expect(await bench.end(run) == .done)
    }
}
