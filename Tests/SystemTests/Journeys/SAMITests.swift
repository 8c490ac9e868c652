import Foundation
import HubProcess
import Testing

/// From a scale at a SAMI-compatible exchange to the hub, with real programs.
@Suite(.serialized, .timeLimit(.minutes(3))) struct SAMITests {
    private func end(_ programs: ChildProcess...) async {
        for program in programs { #expect(await program.stop() == 0, "\(program.errorLines.suffix(5))") }
    }

    private static func ago(_ seconds: Int64) -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) - seconds * 1_000 }

    @Test(.enabled(if: Need.artikcloud.isMet, "\(Need.artikcloud.reason)"))
    func `A weight posted at the exchange is on the feed, and there once after a restart of either side`() async throws
    {
        let scene = try SAMIScene()
        var server = try await scene.startServer(history: 20)
        var hub = try await scene.startHub()
        let login = try await scene.logIn()
        #expect(await login.waitForExit() == 0, "\(login.errorLines)")
        // Every tenth message of the history has no weight.
        try await scene.until("the whole history is stored") { try await scene.weights().count == 18 }
        let status = try await scene.host.command("status")
        #expect(status.lines.contains { $0.hasPrefix("sami") && $0.contains("Ada Example") }, "\(status.lines)")

        let tap = try ChildProcess(
            "hub", ["tap", "sample/weight/me/sami/", "--frames"], environment: scene.host.environment)
        try await scene.until("the live stream is open") {
            try scene.send("GET", "/control/state").body.contains(#""sockets":1"#)
        }
        // A listener only receives messages published after its subscription has arrived, so weights are posted until then.
        var number: Int64 = 0
        try await scene.until("the feed shows a posted weight") {
            number += 1
            try scene.weigh(90 + Double(number) / 10, at: Self.ago(3_600) + number)
            return !tap.lines.isEmpty
        }
        let sdk = try scene.weighBySDK(65.25, at: Self.ago(300))
        _ = await sdk.lines(count: 1) { $0 == "posting" }
        let begun = ContinuousClock.now
        let heard = await tap.lines(count: 1) { $0.contains("65.25") }
        print("from the SDK's call to the feed: \(ContinuousClock.now - begun)")
        #expect(heard.count == 1 && heard.allSatisfy { $0.contains(#""topic":"sample/weight/me/sami/""#) })
        #expect(heard.allSatisfy { $0.contains(#""value":65.25,"unit":"kg""#) }, "\(heard)")
        #expect(await sdk.waitForExit() == 0, "\(sdk.errorLines)")
        _ = await tap.stop()
        let expected = 19 + Int(number)
        try await scene.until("all weights are stored") { try await scene.weights().count == expected }
        #expect(try await scene.weights().allSatisfy { $0.unit == "kg" })

        await hub.killAndWait()
        try scene.weigh(70, at: Self.ago(60))
        hub = try await scene.startHub()
        try await scene.until("the weight from the time without a hub is stored") {
            try await scene.weights().count == expected + 1
        }
        try await scene.killPlugin()
        try scene.weigh(72, at: Self.ago(20))
        try await scene.until("the weight from after the plugin's restart is stored") {
            try await scene.weights().count == expected + 2
        }
        await server.killAndWait()
        server = try await scene.startServer()
        try scene.weigh(71, at: Self.ago(30))
        #expect(try await scene.host.command("refresh", "sami").status == 0)
        try await scene.until("the weight from after the server's restart is stored") {
            try await scene.weights().count == expected + 3
        }
        let keys = try await scene.weights().map(\.key)
        #expect(Set(keys).count == keys.count)
        await end(hub, server)
    }

    @Test func `A weight of the hub is at the exchange once, whatever restarts, and does not come back`() async throws {
        // To see the posted weights, this test asks more often than the service allows in a minute.
        let scene = try SAMIScene(["--no-rate-limits"], settings: "post = [\"weight\"]")
        var server = try await scene.startServer()
        var hub = try await scene.startHub()
        #expect(await (try await scene.logIn()).waitForExit() == 0)
        try await scene.until("the plugin has subscribed to weights") { try await !scene.status().sinks.isEmpty }
        #expect(try await scene.host.command("log", "weight", "80.5kg", "--yes").status == 0)
        try await scene.until("the weight has reached the exchange") { try scene.posted() == [80.5] }
        await hub.killAndWait()
        hub = try await scene.startHub()
        try await scene.killPlugin()
        await server.killAndWait()
        try await scene.until("hub status reports the fault and the command to run") {
            try await scene.says { $0.contains("hub refresh sami") }
        }
        #expect(try await scene.host.command("log", "weight", "80.75kg", "--yes").status == 0)
        server = try await scene.startServer()
        // The hub offers it repeatedly until the service takes it.
        try await scene.until("the second weight has reached the exchange too") { try scene.posted() == [80.5, 80.75] }
        // If the hub read its own device, it would have done so by now.
        #expect(try await scene.host.command("refresh", "sami").status == 0)
        #expect(try await scene.weights().map(\.value) == [80.5, 80.75])
        #expect(try scene.posted() == [80.5, 80.75])
        try await scene.until("hub status no longer reports the fault") {
            try await !scene.says { $0.contains("hub refresh sami") }
        }
        await end(hub, server)
    }

    @Test(arguments: [true, false])
    func
        `A refused log-in is reported, and a log-out leaves no token, not even at the service, with or without a secret`(
            _ hasSecret: Bool
        ) async throws
    {
        let scene = try SAMIScene(settings: hasSecret ? "client_secret = \"5ec2e70000000000000000000000005a\"" : "")
        let server = try await scene.startServer()
        let hub = try await scene.startHub()
        let refused = try await scene.logIn(decision: "deny")
        #expect(await refused.waitForExit() == 77, "\(refused.errorLines)")
        let login = try await scene.logIn()
        #expect(await login.waitForExit() == 0, "\(login.errorLines)")
        try await scene.canBeAsked()
        let done = try await scene.host.command("logout", "sami", "--yes")
        #expect(done.status == 0 && done.lines.last?.contains("the service has revoked the token") == true, "\(done)")
        let state = try scene.send("GET", "/control/state").body
        // With the secret, the application's own token is left, because it requested the revocation.
        #expect(state.contains(hasSecret ? #""token":1"# : #""token":0"#), "\(state)")
        let after = try await scene.host.command("refresh", "sami")
        #expect(after.status != 0 && (after.lines + after.errors).contains { $0.contains("hub login sami") })
        let status = try await scene.host.command("status")
        #expect(status.lines.contains { $0.hasPrefix("sami") && $0.contains("hub login sami") }, "\(status.lines)")
        await end(hub, server)
    }

    enum Victim: CaseIterable { case plugin, hub }

    @Test(arguments: Victim.allCases)
    func `After a kill in the middle of a backfill the next one goes on, and nothing is lost or doubled`(
        _ victim: Victim
    ) async throws {
        let scene = try SAMIScene(
            ["--dialect", "artik", "--no-rate-limits"], settings: "dialect = \"artik\"\nsince = 2999-01-01")
        let server = try await scene.startServer(history: 3_000)
        var hub = try await scene.startHub()
        #expect(await (try await scene.logIn()).waitForExit() == 0)
        try await scene.canBeAsked()
        // Thirty pages, each slow enough for a kill in the middle.
        try scene.send("PUT", "/control/faults", body: #"["delay=0.1@/messages"]"#)
        let backfill = try ChildProcess("hub", ["backfill", "sami", "--json"], environment: scene.host.environment)
        try await scene.until("the backfill is under way") { try await scene.weights().count > 500 }
        switch victim {
        case .plugin: try await scene.killPlugin()
        case .hub:
            await hub.killAndWait()
            hub = try await scene.startHub()
        }
        #expect(await backfill.waitForExit() != 0)
        let before = try await scene.weights().count
        #expect(before < 2_700, "the backfill had already finished")
        try scene.send("DELETE", "/control/faults")
        let again = try await scene.host.command("backfill", "sami", "--json")
        #expect(again.status == 0, "\(again.errors)")
        let keys = try await scene.weights().map(\.key)
        #expect(keys.count == 2_700 && Set(keys).count == 2_700)
        let report = try JSONDecoder().decode(Report.self, from: Data(again.lines.joined().utf8))
        // Ten records are nine weights and a height.
        #expect(report.devices.count == 1 && report.devices[0].new < 3_000 - before)
        await end(hub, server)
    }

    private struct Report: Decodable {
        struct Device: Decodable { var new: Int }
        var devices: [Device]
    }
}
