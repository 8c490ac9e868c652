import Foundation
import HubProcess
import Platform
import Testing

/// A phone posts for days while the hub and the plugin are killed at random; everything is stored once.
///
/// `HUB_PHONE_DAYS` makes it longer than the suite has time for.
@Suite(.timeLimit(.minutes(10)), .enabled(if: Need.python.isMet, Comment(rawValue: Need.python.reason)))
struct PhoneJourneyTests {
    private struct Status: Decodable {
        struct Plugin: Decodable { var alive: Bool; var pid: Int32? }
        var plugins: [Plugin]
    }

    private struct Token: Decodable { var token: String }

    private struct Account: Decodable {
        var expected: [String: Double]
        var attempts, failures: Int
    }

    private struct Stored: Decodable {
        var key: String
        var value: Double
    }

    private func plugin(_ host: HubHost) async throws -> Status.Plugin? {
        let lines = try await host.command("status", "--json").lines
        return try? JSONDecoder().decode(Status.self, from: Data(lines.joined().utf8)).plugins.first
    }

    @Test func `hub ingest new shows the person of a token, and the consequences if there is none`() async throws {
        let host = try HubHost(
            plugins: """
                [person.juergen]
                display_name = "Jürgen"
                [plugin.http-ingest]
                enabled = true
                listen = "127.0.0.1:\(try FreePort.next())"
                """)
        let hub = try await host.start()
        try await eventually { try await plugin(host)?.alive == true }
        let theirs = try await host.command("ingest", "new", "kitchen", "--person", "JÜRGEN", "--dry-run").lines
        #expect(theirs.first == "would make the token kitchen, for Jürgen", "\(theirs)")
        #expect(theirs.contains("It writes for Jürgen (juergen) alone: a post that names someone else is refused."))
        let begun = try await host.command("ingest", "new", "ME-phone").lines
        #expect(begun.first == "ME-phone, for me", "\(begun)")
        let refused = try await host.command("ingest", "new", "jürgens-phone").errors
        #expect(refused.first?.hasPrefix("hub: new of http-ingest: name: ") == true, "\(refused)")
        let noOnes = try await host.command("ingest", "new", "juergens-phone").lines
        #expect(noOnes.first == "juergens-phone, of no person", "\(noOnes)")
        #expect(
            noOnes.contains { $0.contains("It belongs to no person") } && noOnes.contains { $0.contains("hub inbox") })
        let advice = "  hub ingest revoke juergens-phone && hub ingest new juergens-phone --person juergen"
        #expect(noOnes.contains(advice), "\(noOnes)")
        await hub.killAndWait()
    }

    @Test func `Ten days of a phone are stored once although the hub and the plugin are killed at times`() async throws
    {
        let days = ProcessInfo.processInfo.environment["HUB_PHONE_DAYS"].flatMap { Int($0) } ?? 10
        let port = try FreePort.next()
        let host = try HubHost(
            plugins: """
                [plugin.http-ingest]
                enabled = true
                listen = "127.0.0.1:\(port)"
                """)
        var hub = try await host.start()
        try await eventually { try await plugin(host)?.alive == true }
        let made = try await host.command("ingest", "new", "me-phone", "--json")
        let token = try JSONDecoder().decode(Token.self, from: Data(made.lines.joined().utf8)).token
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "phone.py").path
        let phone = try ChildProcess("/usr/bin/env", ["python3", script, "\(port)", token, "\(days)", "1"])
        let isOver = Task { await phone.result() }
        var dice = SeededGenerator(seed: 1)
        var kills = (hub: 0, plugin: 0)
        // A few kills of each are enough for ten days; a longer run kills them for an hour.
        let end = ContinuousClock.now + .seconds(3_600)
        while phone.isRunning, ContinuousClock.now < end, days > 10 || kills.hub < 3 || kills.plugin < 4 {
            try await Task.sleep(for: .milliseconds(Int.random(in: 200...1_000, using: &dice)))
            if kills.hub < 3 || days > 10, Int.random(in: 0..<3, using: &dice) == 0 {
                await hub.killAndWait()
                hub = try await host.start()
                kills.hub += 1
            } else if let pid = try await plugin(host)?.pid {
                kill(pid, SIGKILL)
                kills.plugin += 1
            }
        }
        let result = await isOver.value
        #expect(result.code == 0, "\(result.output)")
        let account = try JSONDecoder().decode(Account.self, from: Data(phone.lines.joined().utf8))
        let lines = try await host.command("samples", "--since", "0", "--json").lines
        let stored = lines.compactMap { try? JSONDecoder().decode(Stored.self, from: Data($0.utf8)) }
        let raw = stored.map { record in
            let parts = record.key.split(separator: " ")
            return (parts.count > 2 && parts[2] == "r" ? "\(parts[0]) \(parts[1])" : record.key, record.value)
        }
        #expect(Set(raw.map(\.0)).count == raw.count)
        let found = Dictionary(raw, uniquingKeysWith: { first, _ in first })
        #expect(found == account.expected, "\(kills), \(account.failures) of \(account.attempts) posts failed")
        #expect(kills.hub > 0 && kills.plugin > 0, "the phone was done before anything was killed")
        _ = await hub.stop()
    }
}
