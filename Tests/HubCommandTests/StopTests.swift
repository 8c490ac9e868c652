import ArgumentParser
import HubClient
import HubProcess
import Testing

@testable import HubCommand

@Suite struct StopTests {
    @Test func `hub stop ends the hub in order and returns when another hub can use its folder`() async throws {
        let folder = try TemporaryFolder()
        let hub = try await TestHub(in: folder)
        let stopped = try await hub.run(["stop"])
        #expect(stopped.code == 0 && stopped.output == "the hub has ended\n", "\(stopped)")
        let next = try await TestHub(in: folder)
        #expect(try await next.run(["status"]).code == 0)
        #expect(try await next.run(["stop"]).code == 0)
        #expect(try await next.run(["stop"]).code == HubExit.noHub.rawValue)
    }

    @Test(arguments: ["list", "version", "start", "enable"])
    func `the name of a common command of other programs is answered with the matching hub command`(_ name: String)
        throws
    {
        let failure = try #require(throws: Failure.self) { try RootCommand.checkName([name]) }
        #expect(failure.exit == .usage)
        let command = try #require(failure.message.firstMatch(of: /; hub ([a-z-]+)/)?.1)
        #expect(
            command.hasPrefix("--")
                || RootCommand.configuration.subcommands.contains { $0.configuration.commandName == String(command) })
    }
}
