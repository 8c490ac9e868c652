import CloudClient
import Foundation
import PluginKit
import Synchronization
import Testing

@Suite struct FailureTests {
    @Test func `A closed port is unreachable, and the request has certainly had no effect`() async throws {
        let closed = try DeafPort()
        let (address, port) = (try ServiceAddress("http://127.0.0.1:\(closed.port)"), closed.port)
        let client = CloudClient(address, pace: TestPace().pace)
        let found = try await failure { try await client.send(secretRequest(.post)) }
        #expect(found.code == .unreachable && !found.mayHaveHadEffect && found.mayPass)
        #expect(found.message == "POST 127.0.0.1:\(port)/data: 127.0.0.1:\(port) cannot be reached: Connection refused")
        #expect(PluginFailure(found).exit == .unavailable)
    }

    @Test func `An unknown name is unreachable, too`() async throws {
        let client = CloudClient(try ServiceAddress("https://unknown.invalid"), pace: TestPace().pace)
        let error = try await failure { try await client.send(secretRequest(.post)) }
        #expect(error.code == .unreachable && !error.mayHaveHadEffect)
        #expect(error.message.contains("unknown.invalid cannot be looked up") && !error.message.contains(hidden))
    }

    @Test func `A service that does not use TLS for https is reported as a TLS error`() async throws {
        let service = try StandIn { talk, _ in talk.send("SSH-2.0-OpenSSH\r\n") }
        let client = CloudClient(try ServiceAddress("https://127.0.0.1:\(service.port)"), pace: TestPace().pace)
        let error = try await failure { try await client.send(secretRequest(.post)) }
        #expect(error.code == .tls && !error.mayHaveHadEffect && !error.mayPass, "\(error)")
    }

    @Test func `A certificate without a known authority ends the exchange before the request`() async throws {
        let service = try TLSService()
        let client = CloudClient(try ServiceAddress("https://127.0.0.1:\(service.port)"), pace: TestPace().pace)
        let error = try await failure { try await client.send(secretRequest(.post)) }
        #expect(error.code == .tls && !error.mayHaveHadEffect && error.message.contains("certificate"), "\(error)")
        #expect(PluginFailure(error).exit == .unavailable)
    }

    @Test(arguments: [(CloudRequest.Method.post, true), (.get, false)])
    func `A service that accepts the request and does not answer times out`(
        _ method: CloudRequest.Method, _ effect: Bool
    ) async throws {
        let service = try StandIn { talk, _ in
            _ = talk.request()
            talk.stall()
        }
        let client = try client(service) { $0.silence = .seconds(1) }
        let error = try await failure { try await client.send(secretRequest(method)) }
        #expect(error.code == .timedOut && error.mayHaveHadEffect == effect && error.mayPass)
        #expect(error.message.hasSuffix("/data: the service did not answer in time"))
        #expect(!error.message.contains(hidden))
    }

    @Test func `A stall in the middle of the answer times out`() async throws {
        let service = try StandIn { talk, _ in
            _ = talk.request()
            talk.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            talk.stall()
        }
        let client = try client(service) { $0.silence = .seconds(1) }
        let error = try await failure { try await client.send(secretRequest(.post)) }
        #expect(error.code == .timedOut && error.mayHaveHadEffect)
        #expect(error.message.hasSuffix("began to answer and did not end in time"))
    }

    @Test func `A service that sends its answer endlessly slowly is cut off`() async throws {
        let service = try StandIn { talk, _ in
            _ = talk.request()
            talk.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while talk.send("1\r\nx\r\n") { usleep(10_000) }
        }
        let client = try client(service) { $0.whole = .seconds(1) }
        let error = try await failure { try await client.send(CloudRequest(.get, "/")) }
        #expect(error.code == .timedOut)
    }

    @Test func `A slow answer is accepted`() async throws {
        let service = try StandIn { talk, _ in
            _ = talk.request()
            for piece in ["HTTP/1.1 200", " OK\r\nContent-", "Length: 4\r\n\r", "\nab", "cd"] {
                usleep(10_000)
                talk.send(piece)
            }
        }
        let answer = try await client(service).send(CloudRequest(.get, "/"))
        #expect(String(decoding: answer.body, as: UTF8.self) == "abcd")
    }

    @Test(arguments: [false, true], ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"])
    func `A connection that ends before or within the answer is reported as a cut`(_ hard: Bool, _ part: String)
        async throws
    {
        let service = try StandIn { talk, _ in
            _ = talk.request()
            talk.send(part)
            if hard { talk.reset() }
        }
        let error = try await failure { try await client(service).send(secretRequest(.post)) }
        #expect(error.code == .cut && error.mayHaveHadEffect && error.mayPass, "\(error)")
        #expect(!error.message.contains(hidden))
    }

    @Test(
        arguments: [
            (CloudRequest.Method.get, "500 Oops", false, false), (.get, "500 Oops", true, true),
            (.get, "403 Forbidden", true, false), (.post, "500 Oops", true, true), (.get, "200 OK", false, false),
            (.get, "200 OK", true, true), (.get, "", true, true),
        ] as [(CloudRequest.Method, String, Bool, Bool)])
    func `Only a request that can change something may have had an effect, with any method`(
        _ method: CloudRequest.Method, _ status: String, _ hasEffect: Bool, _ mayHaveHadEffect: Bool
    ) async throws {
        let service = try StandIn { talk, _ in
            guard talk.request() != nil, !status.isEmpty else { return }
            talk.answer(status, [], "no JSON")
        }
        var request = CloudRequest(method, "/token")
        #expect(request.hasEffect == (method == .post))
        request.hasEffect = hasEffect
        let error = try await #require(throws: CloudError.self) {
            _ = try await client(service).send(request).successful().json(Int.self)
        }
        #expect(error.mayHaveHadEffect == mayHaveHadEffect, "\(error)")
    }

    @Test func `Chunks that end early are reported as a cut`() async throws {
        let service = try StandIn { talk, _ in
            _ = talk.request()
            talk.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        }
        let error = try await failure { try await client(service).send(CloudRequest(.get, "/")) }
        #expect(error.code == .cut && !error.mayHaveHadEffect)
    }

    @Test func `An answer that is not HTTP is malformed`() async throws {
        let service = try StandIn { talk, _ in
            _ = talk.request()
            talk.send("220 mail.example.org ESMTP \(hidden)\r\n")
            talk.stall()
        }
        let error = try await failure { try await client(service).send(secretRequest(.post)) }
        #expect(error.code == .malformed && error.mayHaveHadEffect && !error.message.contains(hidden))
    }

    @Test(arguments: ["Content-Length: 2000", "Transfer-Encoding: chunked"])
    func `An answer that is too large is not read to its end`(_ field: String) async throws {
        let service = try StandIn { talk, _ in
            _ = talk.request()
            talk.send("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n")
            if field.hasPrefix("T") { while talk.send("64\r\n\(String(repeating: "x", count: 100))\r\n") {} }
            talk.stall()
        }
        let client = try client(service) { $0.answerBytes = 1_000 }
        let error = try await failure { try await client.send(CloudRequest(.get, "/")) }
        #expect(error.code == .tooLarge && !error.mayPass)
        #expect(error.message.hasSuffix("the answer is larger than the 1000 bytes that are taken"))
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"])
    func `Cancelling the task ends the exchange and its connection`(_ part: String) async throws {
        let (arrivals, arrived) = AsyncStream<Void>.makeStream()
        let (goings, gone) = AsyncStream<Void>.makeStream()
        let service = try StandIn { talk, _ in
            _ = talk.request()
            talk.send(part)
            arrived.yield()
            talk.stall()
            gone.yield()
        }
        let client = try client(service)
        let task = Task { try await client.send(CloudRequest(.get, "/")) }
        for await _ in arrivals { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for await _ in goings { break }
    }

    @Test func `The connections close when the last client is released`() async throws {
        let (goings, gone) = AsyncStream<Void>.makeStream()
        let service = try StandIn { talk, _ in
            while talk.request() != nil { talk.answer() }
            gone.yield()
        }
        do {
            // Limits that no other test uses, so that this client has its own connections.
            let client = try client(service) { $0.silence = .seconds(31) }
            _ = try await client.send(CloudRequest(.get, "/"))
        }
        for await _ in goings { break }
    }
}
