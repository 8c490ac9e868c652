import Foundation
import HubProcess
import Testing

/// What the libraries of `Clients/` promise, played by `clients.py` against one hub.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ClientTests {
    private struct Check: Decodable {
        var language, what, detail: String
        var holds: Bool
    }

    @Test
    func `every client library ends with exactly what it must have, through kill -9 and a restore`()
        async throws
    {
        let runner = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "clients.py")
        let program = try ChildProcess(
            try Tool.python(with: "zmq"), [runner.standardizedFileURL.path, Programs.path("hub"), "--json"])
        let result = await program.result()
        var checks: [Check] = []
        for line in result.output.split(separator: "\n") {
            checks.append(try JSONDecoder().decode(Check.self, from: Data(line.utf8)))
        }
        for check in checks where !check.holds {
            Issue.record("\(check.language): \(check.what): \(check.detail)")
        }
        #expect(result.code == 0 && checks.count > 60, "\(result.errors)")
    }
}
