import Foundation
import HubProcess
import Testing
import WebFaults

@testable import SAMIExchange

/// Answered requests survive kill -9; unanswered ones are stored completely or not at all.
@Suite(.timeLimit(.minutes(1))) struct SAMIKillTests {
    private func start(_ state: String) async throws -> (process: ChildProcess, port: Int) {
        let process = try ChildProcess(
            "hub-sami-server", ["--listen", "127.0.0.1:0", "--state", state, "--no-rate-limits"])
        let line = await process.lines(count: 1).first ?? ""
        return (process, try #require(Int(line.split(separator: ":").last ?? ""), "\(process.errorLines)"))
    }

    private func ask(_ port: Int, _ head: String, _ body: String = "") throws -> JSONTree? {
        let connection = try RawConnection(port)
        connection.send(
            "\(head)\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let text = String(decoding: try connection.takeAll(), as: UTF8.self)
        return JSONTree(Array((text.components(separatedBy: "\r\n\r\n").last ?? "").utf8))
    }

    @Test func `Acknowledged messages, tokens and devices survive kill -9, each once`() async throws {
        let folder = try TemporaryFolder()
        let state = "\(folder.path)/sami.sqlite"
        var (server, port) = try await start(state)
        let grant = try ask(port, "POST /control/tokens HTTP/1.1", "{}")
        let token = "Authorization: bearer \(grant?["access_token"]?.text ?? "")"
        let made = try ask(
            port, "POST /v1.1/devices HTTP/1.1\r\n\(token)",
            #"{"uid":"\#(Fixtures.user)","dtid":"\#(Fixtures.withings)","name":"Second scale"}"#)
        let did = try #require(made?["data"]?["id"]?.text)
        var mids: [String] = []
        for round in 0..<3 {
            // A request is in progress during the kill.
            for number in 0..<20 {
                let answer = try ask(
                    port, "POST /v1.1/messages HTTP/1.1\r\n\(token)",
                    #"{"sdid":"\#(did)","ts":\#(1_700_000_000_000 + round * 100 + number),"data":{"weight":80}}"#)
                mids.append(try #require(answer?["data"]?["mid"]?.text))
            }
            let open = try RawConnection(port)
            open.send(
                "POST /v1.1/messages HTTP/1.1\r\nHost: localhost\r\n\(token)\r\nContent-Length: 70\r\n\r\n{\"sdid\"")
            await server.killAndWait()
            (server, port) = try await start(state)
        }
        let page = try ask(
            port,
            "GET /v1.1/messages?sdid=\(did)&startDate=1700000000000&endDate=1700000001000&count=1000 HTTP/1.1\r\n\(token)"
        )
        #expect(page?["data"]?.list?.compactMap { $0["mid"]?.text }.sorted() == mids.sorted())
        #expect(try ask(port, "GET /v1.1/devices/\(did) HTTP/1.1\r\n\(token)")?["data"]?["name"] == "Second scale")
        #expect(await server.stop() == 0)
    }
}
