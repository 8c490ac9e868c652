import Foundation
import HubProcess
import Testing

/// Renewals of tokens that fail at the service, in the plugin or in the hub.
@Suite(.serialized, .timeLimit(.minutes(3))) struct TokenFaultTests {
    /// A hub with a logged-in plugin whose access token is about to expire.
    private func scene(_ settings: String = "") async throws -> (LogInScene, ChildProcess) {
        let (scene, hub) = try await LogInScene.running(settings)
        scene.server.change { $0.expiresIn = 1 }
        return (scene, hub)
    }

    @Test func `a lost answer to a renewal ends the log-in, and hub status says what a person has to do`() async throws
    {
        for fault in [OAuthServer.Fault.loseAnswer, .rubbish] {
            let (scene, hub) = try await scene()
            try await scene.logIn()
            scene.server.next(fault)
            // The first failure looks as if the service had not answered.
            let first = try await scene.refresh()
            #expect(first.status == 1 && first.said.contains("cannot be renewed now"), "\(first)")
            let failing = try #require(try await scene.token())
            #expect(failing.state == "failing" && failing.advice?.contains("tries again") == true, "\(failing)")
            // The second reports that the refresh token was used before: only a person can repair that.
            let second = try await scene.refresh()
            #expect(second.status == 1 && second.said.contains("run hub login cloud"), "\(second)")
            let refused = try #require(try await scene.token())
            #expect(refused.state == "refused", "\(refused)")
            #expect(
                refused.advice
                    == "the service refuses the log-in (invalid_grant: the stand-in says so); hub login cloud")
            let status = try await scene.host.command("status")
            #expect(status.status == 1)
            #expect(status.lines.contains { $0.hasPrefix("cloud, me: the service refuses the log-in") })
            #expect(scene.server.counts.reuses == 1)
            try await scene.logIn()
            #expect(try await scene.refresh().said.contains("Mira"))
            #expect(await hub.stop() == 0, "\(hub.errorLines)")
        }
    }

    @Test func `a busy, slow or absent service makes a renewal fail, but does not end the log-in`() async throws {
        let (scene, hub) = try await scene()
        try await scene.logIn()
        for fault in [OAuthServer.Fault.hangUp, .status(503), .status(429)] {
            scene.server.next(fault)
            let failed = try await scene.refresh()
            #expect(failed.status == 1 && failed.said.contains("cannot be renewed now"), "\(failed)")
            #expect(try await scene.token()?.state == "failing")
            #expect(try await scene.refresh().said.contains("Mira"))
            #expect(try await scene.token()?.state == "valid")
        }
        let renewals = scene.server.counts.renewals
        scene.server.next(.hold)
        async let slow = scene.refresh()
        await scene.server.wait { $0.renewals == renewals + 1 }
        scene.server.release()
        #expect(try await slow.said.contains("Mira"))
        #expect(scene.server.counts.reuses == 0 && scene.server.counts.logIns == 1)
        #expect(await hub.stop() == 0, "\(hub.errorLines)")
    }

    @Test func `of several processes of an instance one renews the token, and all of them use it`() async throws {
        let (scene, hub) = try await scene()
        try await scene.logIn()
        scene.server.change { $0.expiresIn = 3_600 }
        let renewals = scene.server.counts.renewals
        let settings = "service = \"\(scene.server.base)\"\nredirect = \"\(scene.redirect)\"\n"
        scene.server.next(.hold)
        let processes = try (0..<4).map { number in
            try scene.host.plugin(
                "example-cloud", "--once", settings: settings, state: "state-\(number)", ["--instance", "cloud"])
        }
        // The renewal is done and its answer delayed: meanwhile the other processes need the token, too.
        await scene.server.wait { $0.renewals == renewals + 1 }
        scene.server.release()
        for process in processes { #expect(await process.waitForExit() == 0, "\(process.errorLines)") }
        let counts = scene.server.counts
        #expect(counts.renewals == renewals + 1 && counts.reuses == 0 && counts.bad == 0, "\(counts)")
        #expect(await hub.stop() == 0, "\(hub.errorLines)")
    }

    @Test(arguments: ["refreshed", "written", "put"])
    func `a plugin that is killed during a renewal loses it only if it is not on a disk yet`(_ place: String)
        async throws
    {
        let (scene, hub) = try await scene("die = \"\(place)\"")
        try await scene.logIn()
        let dying = try await scene.refresh()
        #expect(dying.status != 0 && dying.said.contains("session of the plugin ended"), "\(dying)")
        _ = try await scene.host.command("release", "cloud")
        try await scene.isRunning()
        if place == "refreshed" {
            let token = try await scene.token { $0?.state == "refused" }
            #expect(token?.advice?.hasSuffix("hub login cloud") == true, "\(String(describing: token))")
            #expect(scene.server.counts.reuses == 1)
        } else {
            #expect(try await scene.refresh().said.contains("Mira"))
            #expect(scene.server.counts.reuses == 0 && scene.server.counts.logIns == 1)
            #expect(try await scene.token()?.state == "valid")
        }
        #expect(await hub.stop() == 0, "\(hub.errorLines)")
    }

    @Test func `a hub that is killed during a renewal gets the token from the next process of the plugin`() async throws
    {
        let (scene, first) = try await scene()
        try await scene.logIn()
        let renewals = scene.server.counts.renewals
        scene.server.next(.hold)
        async let asked = scene.refresh()
        await scene.server.wait { $0.renewals == renewals + 1 }
        await first.killAndWait()
        scene.server.release()
        #expect(try await asked.status != 0)
        let second = try await scene.host.start()
        try await scene.isRunning()
        #expect(try await scene.refresh().said.contains("Mira"))
        let counts = scene.server.counts
        #expect(counts.reuses == 0 && counts.logIns == 1, "\(counts)")
        #expect(try await scene.token()?.state == "valid")
        #expect(await second.stop() == 0, "\(second.errorLines)")
    }

    @Test func `R11.3 R11.13 tokens that a careless plugin writes are shown nowhere`() async throws {
        let (scene, hub) = try await scene("careless = true")
        try await scene.logIn()
        let result = try await scene.refresh()
        #expect(result.status == 0 && result.said.contains("<secret>"), "\(result)")
        let status = try await scene.host.command("status", "--json").lines.joined()
        #expect(status.contains("the token is <secret> and <secret>"))
        let logs = try await scene.host.command("logs", "cloud").lines.joined(separator: "\n")
        #expect(logs.contains("printed: the token is <secret> and <secret>"), "\(logs)")
        #expect(logs.contains("logged: the token is <secret> and <secret>"))
        #expect(await hub.stop() == 0, "\(hub.errorLines)")
        let said = ([result.said, status, logs] + hub.errorLines).joined()
        for secret in scene.server.secrets { #expect(!said.contains(secret)) }
        #expect(
            try Set(scene.leaks()).subtracting(["secrets.db", "secrets.db-wal", "state.db", "state.db-wal"]).isEmpty)
    }
}
