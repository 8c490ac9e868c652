import Foundation
import IHealthCloudSimulation
import PluginKit
import ScaleBench
import Testing
import WebFaults

@testable import ScaleProtocols

/// `hub-ihealth-cloud` as connectors use it, with the vendor's stand-in behind it.
@Suite(.timeLimit(.minutes(1)))
struct CloudProgramTests {
    private let page = "/OpenApiV2/OAuthv2/userauthorization/"

    /// The running programs of this kind that this process has started.
    private func running() throws -> Set<Int32> {
        let own = "PPid:\t\(ProcessInfo.processInfo.processIdentifier)\n"
        let ids = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }
        return Set(
            ids.filter { text("cmdline", of: $0).contains(CloudProgram.name) && text("status", of: $0).contains(own) })
    }

    private func text(_ file: String, of process: Int32) -> String {
        String(decoding: FileManager.default.contents(atPath: "/proc/\(process)/\(file)") ?? Data(), as: UTF8.self)
    }

    @Test func `secrets are on no command line and in no environment`() async throws {
        let cloud = try await VendorCloud()
        let (address, program) = (try ServiceAddress(cloud.base), try CloudProgram())
        let before = try running()
        let answer = try await program.ask(address, page, query: [("client_secret", "s3cret")])
        #expect((300...499).contains(answer.status))
        let own = try running().subtracting(before)
        let process = try #require(own.first)
        #expect(own.count == 1)
        #expect(text("cmdline", of: process).split(separator: "\0").count == 1)
        #expect(!text("environ", of: process).contains("s3cret"))
        #expect(cloud.service.requests == [page])
    }

    @Test func `a cancelled question ends, and the next one is answered`() async throws {
        let cloud = try await VendorCloud()
        let (address, program) = (try ServiceAddress(cloud.base), try CloudProgram())
        cloud.standIn.faults.add([try Fault("delay=3600*1")])
        let question = Task { [page] in try await program.ask(address, page) }
        while !cloud.standIn.faults.faults.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        question.cancel()
        await #expect(throws: CancellationError.self) { try await question.value }
        #expect(try await program.ask(address, "/nothing").status == 404)
    }

    @Test func `an error names the program that is missing, and its place`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        let failure = try #require(throws: PluginFailure.self) { try CloudProgram(in: folder) }
        #expect(failure.message.contains("\(folder)/hub-ihealth-cloud"))
    }
}
