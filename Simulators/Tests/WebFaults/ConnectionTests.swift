import Foundation
import HubProcess
import Synchronization
import Testing
import WebFaults

/// The limits of a connection to a stand-in.
@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    /// Answers with the length of the request's body.
    private final class Counter: StandInService {
        static let forms: [String] = []
        let carriedOut = Mutex(0)

        func answer(_ request: WebRequest, faults: [Fault]) throws -> WebAnswer {
            carriedOut.withLock { $0 += 1 }
            return WebAnswer(200, body: Array("\(request.body.count) \(request.path)".utf8))
        }
        func note(_ request: WebRequest, status: Int?, fault: Fault) throws {}
        func control(_ request: WebRequest) throws -> WebAnswer? { nil }
        func isDisturbed(_ path: String) -> Bool { true }
    }

    /// - Parameter body: receives the port.
    private func serving(
        patience: Duration = .seconds(60), connections: Int = 512, faults: [String] = [],
        _ body: @Sendable @escaping (Int, Counter) throws -> Void
    ) async throws {
        let counter = Counter()
        let queue = FaultQueue(try faults.map { try Fault($0) })
        let (ports, port) = AsyncStream<Int>.makeStream()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await StandIn(
                    counter, faults: queue, clock: try SettableClock(), patience: patience, connections: connections
                ).run(host: "127.0.0.1", port: 0) { port.yield($0) }
            }
            for await found in ports {
                try body(found, counter)
                break
            }
            group.cancelAll()
        }
    }

    @Test func `a connection answers pipelined requests one after the other`() async throws {
        try await serving { port, _ in
            let connection = try RawConnection(port)
            connection.send(
                "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\nPOST /b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
                    + "GET /c HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let text = String(decoding: try connection.takeAll(), as: UTF8.self)
            #expect(text.split(separator: "\r\n\r\n").count == 4)
            let places = ["0 /a", "3 /b", "0 /c"].map { text.firstRange(of: $0)?.lowerBound }
            #expect(places.allSatisfy { $0 != nil } && places.compactMap { $0 } == places.compactMap { $0 }.sorted())
        }
    }

    @Test func `an unreadable request gets one answer and closes the connection`() async throws {
        try await serving { port, counter in
            for text in [
                "nonsense\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nabc\r\n",
            ] {
                let connection = try RawConnection(port)
                connection.send(text)
                let answer = String(decoding: try connection.takeAll(), as: UTF8.self)
                #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.components(separatedBy: "HTTP/1.1").count == 2)
            }
            // Malformed input after a good request on the same connection.
            let second = try RawConnection(port)
            second.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n")
            #expect(try second.status() == 200)
            #expect(try second.status() == 400)
            #expect(try second.takeAll().isEmpty)
            #expect(counter.carriedOut.withLock { $0 } == 1)
        }
    }

    private func status(of target: String, host: String, _ port: Int, _ more: String = "") throws -> Int? {
        let connection = try RawConnection(port)
        connection.send("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\(more)\r\n")
        return try connection.status()
    }

    @Test func `a foreign host name gets 421 for pages, controls and WebSockets`() async throws {
        try await serving { [self] port, counter in
            let handshake =
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            for host in [
                "evil.example", "evil.example:\(port)", "127.0.0.1.evil.example", "localhost.evil", "", "0x7f.1",
            ] {
                let found = try [
                    status(of: "/x", host: host, port), status(of: "/control/faults", host: host, port),
                    status(of: "/x", host: host, port, handshake),
                ]
                #expect(found == [421, 421, 421], "\(host)")
            }
            let second = try status(of: "/x", host: "localhost", port, "Host: evil.example\r\n")
            #expect(second == 421)
            #expect(counter.carriedOut.withLock { $0 } == 0)
            for host in ["127.0.0.1:\(port)", "LOCALHOST", "localhost.:\(port)", "[::1]:\(port)", "192.168.1.7"] {
                let found = try status(of: "/x", host: host, port)
                #expect(found == 200, "\(host)")
            }
        }
    }

    @Test func `an oversized body gets 413, whatever length was announced`() async throws {
        try await serving { port, counter in
            let plain = try RawConnection(port)
            plain.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n")
            plain.send([UInt8](repeating: 0x61, count: 2_000_000))
            #expect(try plain.status() == 413)
            let chunked = try RawConnection(port)
            chunked.send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<20 { chunked.send("186A0\r\n" + String(repeating: "a", count: 100_000) + "\r\n") }
            chunked.send("0\r\n\r\n")
            #expect(try chunked.status() == 413)
            #expect(counter.carriedOut.withLock { $0 } == 0)
        }
    }

    @Test func `half a request is never carried out`() async throws {
        try await serving { port, counter in
            for text in [
                "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc",
                "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
                "POST / HTTP/1.1\r\nHost: localhost\r\n",
            ] {
                let connection = try RawConnection(port)
                connection.send(text)
                connection.endSending()
                #expect([400, nil].contains(try connection.status()), "\(text)")
            }
            #expect(counter.carriedOut.withLock { $0 } == 0)
        }
    }

    @Test func `an unfinished request and an idle connection time out`() async throws {
        try await serving(patience: .milliseconds(300)) { port, counter in
            let silent = try RawConnection(port)
            let head = try RawConnection(port)
            head.send("GET / HTTP/1.1\r\nHo")
            let body = try RawConnection(port)
            body.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc")
            let idle = try RawConnection(port)
            idle.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try silent.takeAll().isEmpty)
            #expect(try head.takeAll().isEmpty)
            #expect(try body.status() == 408)
            #expect(try idle.status() == 200)
            #expect(try idle.takeAll().isEmpty)
            #expect(counter.carriedOut.withLock { $0 } == 1)
        }
    }

    @Test func `idle connections delay others only until they time out`() async throws {
        try await serving(patience: .milliseconds(300), connections: 4) { port, _ in
            let silent = try (0..<12).map { _ in try RawConnection(port) }
            let connection = try RawConnection(port)
            connection.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try connection.status() == 200)
            for other in silent { #expect(try other.takeAll().isEmpty) }
        }
    }

    @Test func `an answer may take longer than the time limit`() async throws {
        try await serving(patience: .milliseconds(100), faults: ["delay=0.5*1"]) { port, _ in
            let connection = try RawConnection(port)
            connection.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try connection.status() == 200)
        }
    }

    @Test func `a service without WebSockets refuses handshakes and ignores other upgrades`() async throws {
        try await serving { port, _ in
            let socket = try RawConnection(port)
            socket.send(
                "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
            #expect(try socket.status() == 404)
            let other = try RawConnection(port)
            other.send(
                "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
            )
            #expect(try other.status() == 200)
        }
    }
}
