import Foundation
import JSON
import PluginKit
import PluginTesting
import SAMIExchange
import Testing
import WebFaults

@testable import SAMI

@Suite(.timeLimit(.minutes(1)), .serialized) struct SourceTests {
    @Test func `look shows the account with its e-mail, its creation and its last change`() async throws {
        let scene = try await Scene()
        let run = scene.run()
        await scene.hub.hellos(2)
        try await scene.untilItListens()
        guard case .done(let shown?) = await scene.hub.command("look") else {
            Issue.record("nothing was shown")
            return
        }
        let lines = JSONTree(shown.bytes)?["lines"]?.list?.compactMap(\.text) ?? []
        let account = try #require(ServiceUser(try scene.get("/users/self")["data"]))
        #expect(lines.contains("I am Ada Example (\(Fixtures.user))."), "\(lines)")
        #expect(lines.contains("  e-mail        ada@example.org"), "\(lines)")
        let (created, modified) = (try #require(account.createdOn), try #require(account.modifiedOn))
        #expect(lines.contains("  created       \(created.text)"), "\(lines)")
        #expect(lines.contains("  last changed  \(modified.text)"), "\(lines)")
        await scene.end(run)
    }

    @Test func `Messages of all pages and those that arrive while it runs are stored once`() async throws {
        let scene = try await Scene { ($0.hasRateLimits, $0.dialect) = (false, .artik) }
        try scene.exchange.invent(250)
        let run = scene.run()
        await scene.hub.records(250)
        // The live stream delivers at once: the next poll is a quarter of an hour away.
        try await scene.untilItListens()
        try scene.post(#"{"weight":91.5}"#, at: Scene.ago(.seconds(1)))
        let held = await scene.hub.records(251)
        #expect(held.count == 251)
        guard case .sample(let sample)? = held.last?.record else { return #expect(Bool(false)) }
        #expect(sample.value == .quantity(91.5, unit: "kg"))
        #expect(sample.source == Source(plugin: "sami", device: Fixtures.scale, account: Fixtures.user))
        await scene.end(run)
        #expect(await scene.hub.duplicates < 250)
    }

    @Test func `Measurements during an absence of either side are stored once, even if late, doubled or unordered`()
        async throws
    {
        let scene = try await Scene()
        try scene.post(#"{"weight":80}"#, at: Scene.ago(.seconds(3_600)))
        var run = scene.run()
        await scene.hub.records(1)
        await scene.end(run)
        // Sent later but measured earlier, and the same reading again under another id.
        try scene.post(#"{"weight":79}"#, at: Scene.ago(.seconds(86_400)))
        scene.faults.add([try Fault("twice", forms: Exchange.forms)])
        try scene.post(#"{"weight":81}"#, at: Scene.ago(.seconds(60)))
        run = scene.run()
        await scene.hub.records(3)
        await scene.end(run)
        #expect(await scene.hub.heldText() == ["weight 79.0 kg", "weight 80.0 kg", "weight 81.0 kg"])
    }

    @Test(arguments: [nil, "Health hub kitchen weight"])
    func `Posts of another hub with this account are read only if the settings name its device`(
        named: String?
    ) async throws {
        let scene = try await Scene(settings: named.map { ["devices": #"["\#($0)"]"#] } ?? [:])
        let other = try scene.add(device: "Health hub kitchen weight", type: Fixtures.withings)
        try scene.post(#"{"weight":80}"#, at: Scene.ago(.seconds(60)), device: other)
        try scene.post(#"{"weight":81}"#, at: Scene.ago(.seconds(30)))
        let run = scene.run(.once)
        #expect(await run.end() == .done)
        #expect(await scene.hub.heldText() == [named == nil ? "weight 81.0 kg" : "weight 80.0 kg"])
    }

    @Test func `The fields of an unknown device type are declared and become separate records`() async throws {
        let scene = try await Scene()
        let type = try #require(
            try scene.control(
                "POST", "devicetypes",
                #"{"name":"SAMI Gear Fit","properties":{"fields":{"activity":{"type":"Integer","unit":""}}}}"#)["id"]?
                .text)
        let device = try scene.add(device: "My Gear Fit", type: type)
        try scene.post(#"{"activity":3}"#, at: Scene.ago(.seconds(60)), device: device)
        let run = scene.run()
        await scene.hub.records(1)
        #expect(await scene.hub.heldText() == ["x.sami.samiGearFit.activity 3.0 count"])
        // The same while it listens.
        try await scene.untilItListens()
        let other = try #require(
            try scene.control(
                "POST", "devicetypes",
                #"{"name":"Lamp","properties":{"fields":{"light":{"type":"Double","unit":"lx"}}}}"#)["id"]?.text)
        try scene.post(
            #"{"light":12.5}"#, at: Scene.ago(.seconds(30)), device: try scene.add(device: "My lamp", type: other))
        await scene.hub.records(2)
        #expect(await scene.hub.heldText().last == "x.sami.lamp.light")
        await scene.end(run)
        let again = scene.run(.once)
        #expect(await again.end() == .done)
        let declared = await scene.hub.hellos.last?.declares.map(\.id) ?? []
        #expect(Set(declared).isSuperset(of: ["x.sami.samiGearFit.activity", "x.sami.lamp.light"]))
    }

    @Test func `A message dated in the future is read`() async throws {
        let scene = try await Scene()
        try scene.post(#"{"weight":80}"#, at: Scene.ago(.seconds(-3_600)))
        let run = scene.run(.once)
        await scene.hub.records(1)
        #expect(await run.end() == .done)
    }

    @Test(arguments: [
        "status=503*2", "cut-before*2", "cut-inside@messages*1", "half@devices*1", "expired@messages*1", "html*1",
    ])
    func `A service that fails for a while loses and doubles nothing`(fault: String) async throws {
        let scene = try await Scene()
        try scene.exchange.invent(30)
        scene.faults.add([try Fault(fault, forms: Exchange.forms)])
        // Waits between attempts take a sixtieth of their time.
        let clock = "\(HubClock.system.time.text)@60"
        await scene.hub.change { $0.clock = clock }
        let run = scene.run()
        await scene.hub.records(30)
        await scene.end(run)
        #expect(await scene.hub.held.count == 30)
    }

    @Test func `An expired token is renewed and saved with the hub before it is used`() async throws {
        let scene = try await Scene()
        try scene.exchange.invent(5)
        try scene.control("DELETE", "tokens")
        let run = scene.run()
        await scene.hub.records(5)
        let token = await scene.hub.token(of: "me", version: 2)
        #expect(token?.text.contains("refresh_token") == true)
        await scene.end(run)
    }

    @Test func `Cut sockets are reopened, and the messages missed meanwhile are read`() async throws {
        let scene = try await Scene()
        let run = scene.run()
        try await scene.untilItListens()
        try scene.control("DELETE", "sockets")
        try scene.post(#"{"weight":82}"#, at: Scene.ago(.seconds(1)))
        await scene.hub.records(1)
        #expect(await scene.hub.heldText() == ["weight 82.0 kg"])
        await scene.end(run)
    }

    @Test func `A history is read on command with progress, and a dry run shows the plan`() async throws {
        let scene = try await Scene(settings: ["since": #""2999-01-01""#])
        try scene.exchange.invent(40)
        let run = scene.run()
        // Fields without a row have been declared, which begins a new session.
        await scene.hub.hellos(2)
        try await scene.untilItListens()
        guard case .done(let plan?) = await scene.hub.command("backfill", isDryRun: true) else {
            return #expect(Bool(false), "the dry run failed")
        }
        #expect(plan.text.contains(#""name":"Bathroom scale""#) && !plan.text.contains("new"))
        #expect(await scene.hub.held.isEmpty)
        let call = await scene.hub.begin("backfill")
        guard case .done(let report?) = await scene.hub.outcome(of: call) else {
            return #expect(Bool(false), "the backfill failed")
        }
        #expect(report.text.contains(#""new":40"#))
        let told = await scene.hub.progress(of: call)
        #expect(told.last?.text?.hasPrefix("up to ") == true && told.last?.text?.hasSuffix("Bathroom scale") == true)
        #expect(await scene.hub.held.count == 40)
        await scene.end(run)
    }
}
