import Foundation
import HubProcess
import Testing

/// `clients.py` checks the promises of the libraries of `Clients/` against one hub: Python's, and with `make test-all` all of them.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ClientTests {
    private struct Check: Decodable {
        var language, what, detail: String
        var holds: Bool
    }

    @Test func `every client library has exactly the right records after kill -9 and a restore`() async throws {
        let runner = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Programs/clients.py")
        let languages = Thoroughness.isWhole ? [] : ["python"]
        let words = [runner.standardizedFileURL.path, Programs.path("hub")] + languages + ["--json"]
        let result = await (try ChildProcess(try Tool.python(with: "zmq"), words)).result()
        var checks: [Check] = []
        for line in result.output.split(separator: "\n") {
            checks.append(try JSONDecoder().decode(Check.self, from: Data(line.utf8)))
        }
        for check in checks where !check.holds { Issue.record("\(check.language): \(check.what): \(check.detail)") }
        #expect(result.code == 0 && checks.count > (Thoroughness.isWhole ? 60 : 8), "\(result.errors)")
    }
}
