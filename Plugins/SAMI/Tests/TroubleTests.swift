import CloudClient
import Foundation
import PluginKit
import PluginTesting
import SAMIExchange
import Testing
import WebFaults

@testable import SAMI

/// Failures, their effect on the records, and the reports that a person reads.
@Suite(.timeLimit(.minutes(1)), .serialized) struct TroubleTests {
    private static let hours = Duration.seconds(5 * 3_600)

    // MARK: - Clocks

    @Test(arguments: [1, -1]) func `If the exchange's clock is wrong by hours, nothing is lost, and a report says so`(
        sign: Int
    ) async throws {
        let scene = try await Scene { _ in }
        scene.clock.move(seconds: Double(sign) * 5 * 3_600)
        let now = scene.clock.now() / 1_000
        try scene.post(#"{"weight":80}"#, at: now - 3_600_000)
        let run = scene.run()
        try await scene.untilItListens()
        await scene.hub.records(1)
        try scene.post(#"{"weight":81}"#, at: now)
        await scene.hub.records(2)
        #expect(await scene.trouble("timedatectl").contains("about 5 h \(sign > 0 ? "ahead of" : "behind")"))
        await scene.end(run)
        // The clock is corrected, and later measurements are read as well.
        try scene.clock.set("system")
        try scene.post(#"{"weight":82}"#, at: Scene.ago(.seconds(30)))
        let again = scene.run(.once)
        await scene.hub.records(3)
        #expect(await again.end() == .done)
        #expect(Set(await scene.hub.heldText()) == ["weight 80.0 kg", "weight 81.0 kg", "weight 82.0 kg"])
    }

    @Test(arguments: [1, -1]) func `If this machine's clock is wrong by days and corrected, nothing is lost`(
        sign: Int
    ) async throws {
        let scene = try await Scene()
        try scene.post(#"{"weight":80}"#, at: Scene.ago(.seconds(3_600)))
        await scene.hurry(1, from: .seconds(sign * 20 * 86_400))
        var run = scene.run(.once)
        #expect(await run.end() == .done)
        try scene.post(#"{"weight":81}"#, at: Scene.ago(.seconds(60)))
        await scene.hub.change { $0.clock = "system" }
        run = scene.run(.once)
        await scene.hub.records(2)
        #expect(await run.end() == .done)
        #expect(await scene.hub.heldText() == ["weight 80.0 kg", "weight 81.0 kg"])
    }

    // MARK: - The live stream

    @Test func `A silent live stream is reopened, and missed messages are read`() async throws {
        let scene = try await Scene { ($0.hasRateLimits, $0.pingSeconds) = (false, 0.02) }
        // Forty seconds of silence take a fifth of a second.
        await scene.hurry(200)
        let run = scene.run()
        try await scene.untilItListens()
        await scene.hub.records(0)
        scene.faults.add([try Fault("silent", forms: Exchange.forms)])
        try scene.post(#"{"weight":80}"#, at: Scene.ago(.seconds(60)))
        let told = await scene.trouble("there is no live stream")
        #expect(told.contains("nothing came any more") && told.contains("hub refresh"))
        await scene.hub.records(1)
        scene.faults.replace([])
        await scene.isWellAgain()
        await scene.end(run)
        #expect(await scene.hub.heldText() == ["weight 80.0 kg"])
    }

    @Test func `A message that the exchange shows late is not skipped`() async throws {
        let scene = try await Scene { ($0.hasRateLimits, $0.deliveryDelay) = (false, 700) }
        scene.faults.add([try Fault("silent", forms: Exchange.forms)])
        try scene.post(#"{"weight":80}"#, at: Scene.ago(.seconds(3_600)))
        let first = scene.run(.once)
        #expect(await first.end() == .done)
        try scene.post(#"{"weight":81}"#, at: Scene.ago(.seconds(7_200)))
        while await scene.hub.held.count < 2 {
            let run = scene.run(.once)
            #expect(await run.end() == .done)
        }
        #expect(await scene.hub.heldText() == ["weight 81.0 kg", "weight 80.0 kg"])
    }

    @Test
    func `A message later than the overlap arrives with the live stream, otherwise with the full read`() async throws {
        let scene = try await Scene(settings: ["full_every": #""10d""#])
        try scene.post(#"{"weight":80}"#, at: Scene.ago(.seconds(3_600)))
        let run = scene.run()
        try await scene.untilItListens()
        await scene.hub.records(1)
        try scene.post(#"{"weight":81}"#, at: Scene.ago(.seconds(400 * 86_400)))
        await scene.hub.records(2)
        await scene.end(run)
        try scene.post(#"{"weight":82}"#, at: Scene.ago(.seconds(300 * 86_400)))
        let early = scene.run(.once)
        #expect(await early.end() == .done)
        #expect(await scene.hub.held.count == 2)
        await scene.hurry(1, from: .seconds(11 * 86_400))
        let due = scene.run(.once)
        #expect(await due.end() == .done)
        #expect(await scene.hub.held.count == 3)
    }

    // MARK: - Reports

    @Test func `Without a log-in the report names hub login`() async throws {
        let scene = try await Scene(isLoggedIn: false)
        let run = scene.run()
        #expect(await scene.trouble("hub login").contains("run hub login sami"))
        try await scene.logIn()
        await scene.end(run)
    }

    @Test func `If a token can no longer be renewed, the report names hub login`() async throws {
        let scene = try await Scene()
        try scene.control("DELETE", "tokens")
        await scene.hub.setToken(
            RawJSON(trusted: Array(#"{"access_token":"old","refresh_token":"unknown","token_type":"Bearer"}"#.utf8)),
            of: "me")
        let run = scene.run()
        #expect(await scene.trouble("hub login").contains("run hub login sami"))
        await scene.end(run)
    }

    @Test func `An unavailable service is reported, and the report is resolved later`() async throws {
        let scene = try await Scene()
        await scene.hurry(600)
        scene.faults.add([try Fault("cut-before", forms: Exchange.forms)])
        let run = scene.run()
        #expect(await scene.trouble("retried automatically").contains("hub refresh sami tries now"))
        scene.faults.replace([])
        await scene.isWellAgain()
        await scene.end(run)
    }

    @Test func `If the application lacks a permission, the report names it`() async throws {
        let scene = try await Scene()
        scene.faults.add([try Fault("status=403@devices", forms: Exchange.forms)])
        let run = scene.run()
        #expect(await scene.trouble("lacks the permission").contains("hub login sami"))
        await scene.end(run)
    }

    @Test func `Used-up limits are reported with the time of their end`() async throws {
        // So low that one import needs more calls: the import at the opening of the live stream may be the same one.
        let scene = try await Scene { $0.limits = (1_000, 1) }
        let run = scene.run()
        let told = await scene.trouble("limit of calls")
        #expect(told.contains("until") && told.contains("automatically"))
        await scene.end(run)
    }

    // MARK: - Limits

    @Test func `A history is read as fast as the limits allow, and the plan and the progress show the time left`()
        async throws
    {
        let scene = try await Scene(settings: ["since": #""2999-01-01""#]) {
            ($0.dialect, $0.limits) = (.artik, (10, 100_000))
        }
        try scene.exchange.invent(2_500)
        // A minute takes a twentieth of a second.
        let now = HubClock.system.time.text
        try scene.clock.set("\(now)@1200")
        await scene.hurry(1_200)
        let run = scene.run()
        await scene.hub.hellos(2)
        try await scene.untilItListens()
        guard case .done(let plan?) = await scene.hub.command("backfill", isDryRun: true) else {
            return #expect(Bool(false), "the dry run failed")
        }
        // Twenty-five pages, or one more by the estimate from the first, at ten calls a minute.
        #expect(plan.text.contains(#""calls":25"#) || plan.text.contains(#""calls":26"#), "\(plan.text)")
        #expect(plan.text.contains(#""takes":"about"#), "\(plan.text)")
        let call = await scene.hub.begin("backfill")
        guard case .done(let report?) = await scene.hub.outcome(of: call) else {
            return #expect(Bool(false), "the backfill failed")
        }
        #expect(report.text.contains(#""new":2500"#))
        let told = await scene.hub.progress(of: call)
        #expect(told.contains { $0.text?.contains("left") == true })
        #expect(told.map(\.done) == told.map(\.done).sorted())
        #expect(await scene.hub.held.count == 2_500)
        await scene.end(run)
    }

    @Test func `The duration of a plan follows from its calls and the limits`() {
        let allowances = [
            RateLimiter.Allowance(calls: 100, left: 40, reset: 30_000_000),
            RateLimiter.Allowance(calls: 1_000, left: 400, reset: 3_600_000_000),
        ]
        func time(_ calls: Int) -> Duration {
            CallEstimate(calls: calls).time(allowances, at: 0, each: .milliseconds(10))
        }
        #expect(time(40) == .milliseconds(400))
        #expect(time(41) == .seconds(30))
        #expect(time(240) == .seconds(30 + 60))
        #expect(time(401) == .seconds(3_600))
        #expect(time(1_401) == .seconds(3_600 + 86_400))
        #expect(CallEstimate(calls: 1_000_000).time([], at: 0, each: .milliseconds(1)) == .seconds(1_000))
    }
}
