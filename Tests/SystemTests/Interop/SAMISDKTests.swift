import Foundation
import HubProcess
import Testing

/// The unchanged official Python SDK of SAMI's successor uses our server; `make setup-test` installs it.
@Suite(.enabled(if: Need.artikcloud.isMet, "\(Need.artikcloud.reason)")) struct SAMISDKTests {
    @Test func `Our server answers all calls of the official Python SDK`() async throws {
        let server = try ChildProcess("hub-sami-server", ["--listen", "127.0.0.1:0", "--dialect", "artik"])
        let address = try #require(await server.lines(count: 1).first)
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Programs/sami_sdk.py").path
        let driver = try ChildProcess(
            try Tool.python(with: "zmq"), [script, address], environment: ["PYTHONPATH": Need.pythonPackages])
        let status = await driver.waitForExit()
        #expect(status == 0, "\(driver.lines.suffix(2)) \(driver.errorLines.suffix(3))")
        #expect(await driver.allLines().last == "50 calls")
        #expect(await server.stop() == 0)
    }

    @Test func `The README's program shows a newcomer the scale's weights, and posts one`() async throws {
        let server = try ChildProcess("hub-sami-server", ["--listen", "127.0.0.1:0", "--history", "30"])
        let address = try #require(await server.lines(count: 1).first)
        let folder = try TemporaryFolder()
        let text = try ReadmePrograms("Simulators/SAMIServer/README.md").text("newcomer.py")
        let script = try folder.write(text.replacing("http://127.0.0.1:8790", with: address), to: "newcomer.py")
        let program = try ChildProcess(
            try Tool.python(with: "zmq"), [script], environment: ["PYTHONPATH": Need.pythonPackages])
        #expect(await program.waitForExit() == 0, "\(program.errorLines.suffix(3))")
        let lines = await program.allLines()
        #expect(lines.first == "Ada Example: Bathroom scale" && lines.count == 6, "\(lines)")
        #expect(
            lines.dropFirst().allSatisfy { $0.hasSuffix(" kg") } && lines.dropFirst().first?.contains("81.4") == true)
        #expect(await server.stop() == 0)
    }
}
