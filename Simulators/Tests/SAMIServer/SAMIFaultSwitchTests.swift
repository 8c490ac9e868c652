import Foundation
import HubProcess
import Testing
import WebFaults
import WebSocketClient

@testable import SAMIExchange

/// Each fault switch alone, on real sockets.
@Suite(.timeLimit(.minutes(1))) struct SAMIFaultSwitchTests {
    private func get(_ port: Int, _ token: String, _ path: String = "/users/self") throws -> RawConnection {
        let connection = try RawConnection(port)
        connection.send(
            "GET /v1.1\(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: bearer \(token)\r\n\r\n"
        )
        return connection
    }

    private func post(_ port: Int, _ token: String) throws -> RawConnection {
        let body = #"{"sdid":"\#(Fixtures.scale)","data":{"weight":81.4}}"#
        let connection = try RawConnection(port)
        connection.send(
            "POST /v1.1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: bearer \(token)\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        return connection
    }

    private func count(_ bench: SAMIBench) throws -> Int {
        let state = try #require(try bench.exchange.control(WebRequest("GET", "/control/state")))
        return try #require(JSONTree(state.body)?["counts"]?["message"]?.integer)
    }

    @Test func `Latency, 5xx, 429 and expired tokens affect their path the given number of times`() async throws {
        let bench = try SAMIBench()
        let token = try bench.token()
        try await bench.serving { port in
            try bench.fault("delay=0.3@users*1")
            let clock = ContinuousClock()
            let begin = clock.now
            #expect(try get(port, token).status() == 200)
            #expect(clock.now - begin >= .milliseconds(300))

            try bench.fault("status=503@users*2")
            #expect(try (0..<3).map { _ in try get(port, token).status() } == [503, 503, 200])
            try bench.fault("status=500@devices")
            #expect(try get(port, token).status() == 200, "another path")
            #expect(try get(port, token, "/devices/\(Fixtures.scale)").status() == 500)
            try bench.fault("too-many=7*1")
            let refusal = String(decoding: try get(port, token).takeAll(), as: UTF8.self)
            #expect(refusal.hasPrefix("HTTP/1.1 429 ") && refusal.contains("Retry-After: 7\r\n"))
            try bench.fault("expired*1")
            #expect(try get(port, token).status() == 401)
            #expect(try get(port, token).status() == 200)
            try bench.fault("html*1")
            #expect(try get(port, token).status() == 502)
        }
    }

    @Test func `A cut loses the request, the answer, or half of it`() async throws {
        let bench = try SAMIBench()
        let token = try bench.token()
        try await bench.serving { port in
            try bench.fault("cut-before@messages*1")
            #expect(try post(port, token).takeAll().isEmpty)
            #expect(try count(bench) == 0, "nothing was done")
            try bench.fault("cut-after@messages*1")
            #expect(try post(port, token).takeAll().isEmpty)
            #expect(try count(bench) == 1, "it was done")
            try bench.fault("cut-inside*1")
            let half = String(decoding: try get(port, token).takeAll(), as: UTF8.self)
            #expect(half.hasPrefix("HTTP/1.1 200 ") && !half.hasSuffix("}"))
            try bench.fault("half*1")
            let torn = String(decoding: try get(port, token).takeAll(), as: UTF8.self)
            let body = torn.components(separatedBy: "\r\n\r\n").last ?? ""
            #expect(torn.contains("Content-Length: \(body.utf8.count)\r\n") && JSONTree(Array(body.utf8)) == nil)
            try bench.fault("twice*1")
            #expect(try post(port, token).status() == 200)
            #expect(try count(bench) == 3)
        }
    }

    @Test func `A stalled request does not delay others`() async throws {
        let bench = try SAMIBench()
        let token = try bench.token()
        try await bench.serving { port in
            try bench.fault("delay=3600@users*1")
            let stalled = try get(port, token)
            #expect(try get(port, token, "/devices/\(Fixtures.scale)").status() == 200)
            #expect(throws: RawConnection.NoAnswer.self) { try stalled.status(within: 0.2) }
        }
    }

    @Test func `A delayed live stream keeps all messages in order, and a cut one ends`() async throws {
        let bench = try SAMIBench()
        let token = try bench.token()
        let query = [(name: "Authorization", value: "bearer \(token)"), (name: "uid", value: Fixtures.user)]
        try await bench.serving { port in
            try bench.fault("delay=0.4@live/frame")
            try await bench.socket(port, "/live", query) { live in
                var heard = live.texts.makeAsyncIterator()
                let clock = ContinuousClock()
                let begin = clock.now
                for weight in 80..<83 { _ = try bench.post(["weight": JSONTree(weight)], token: token) }
                for weight in 80..<83 {
                    #expect(try tree(try await heard.next())["data"]?["weight"] == JSONTree(weight))
                }
                #expect(clock.now - begin >= .milliseconds(400))
                // A fault affects open sockets; this one delivers a message and ends.
                try bench.fault("cut-after@live/frame*1")
                _ = try bench.post(["weight": 90], token: token)
                #expect(try tree(try await heard.next())["data"]?["weight"] == 90)
                #expect((try? await heard.next()) == nil)
            }
        }
    }

    @Test func `A device's frame is lost before it is stored, or its answer afterwards`() async throws {
        let bench = try SAMIBench()
        let token = try bench.token()
        let frame = #"{"sdid":"\#(Fixtures.scale)","data":{"weight":81.4},"cid":"2"}"#
        try await bench.serving { port in
            for (fault, kept) in [("cut-before@websocket/frame*1", 0), ("cut-after@websocket/frame*1", 1)] {
                bench.faults.replace([])
                try await bench.socket(port, "/websocket", [("ack", "true")]) { device in
                    var answers = device.texts.makeAsyncIterator()
                    try await device.send(registration(token))
                    _ = try await answers.next()
                    try bench.fault(fault)
                    try await device.send(frame)
                    #expect((try? await answers.next()) == nil, "no answer")
                }
                #expect(try count(bench) == kept)
            }
        }
    }
}
