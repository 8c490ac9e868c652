import Foundation
import HubProcess
import Testing

/// A hub whose process does not answer.
@Suite struct HungHubTests {
    @Test(.timeLimit(.minutes(1)))
    func `hub status names the process of a stopped hub and how to continue it, and then works`() async throws {
        let host = try HubHost()
        let hub = try await host.start()
        hub.signal(SIGSTOP)
        let asked = try await host.command("status")
        #expect(asked.status == 69)
        let text = asked.errors.joined()
        #expect(text.contains("has not answered for 2 seconds: it was stopped; kill -CONT "), "\(text)")
        let pid = try #require(text.split(separator: " ").compactMap { Int32($0) }.last)
        kill(pid, SIGCONT)
        #expect(try await host.command("status").status == 0)
        #expect(await hub.stop() == 0)
    }
}
