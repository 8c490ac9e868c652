@testable import HTTPServing
import Foundation
import HubProcess
import HubSettings
import JSON
import NIOCore
import PluginKit
import PluginTesting
import Testing

@testable import HTTPIngest

/// Hostile posts and the plugin's answers.
@Suite(.timeLimit(.minutes(1)), .serialized) struct HostilePostTests {
    @Test func `A wrong token is refused before the body is read, and stores nothing`() async throws {
        let scene = try await Scene()
        let tokens = [
            nil, "", "x", "0badcafe", "0badcafe.", "0badcafe.wrong", ".a-secret-that-is-no-secret",
            "deadbeef.a-secret-that-is-no-secret", "0badcafe.a-secret-that-is-no-secretx",
            "0badcafe.a-secret-that-is-no-secret 0badcafe.x",
        ]
        try await scene.run { () async throws in
            let answers = try await withThrowingTaskGroup(of: Scene.Answer.self) { group in
                for token in tokens {
                    group.addTask {
                        // A body is announced but never sent.
                        let head = Scene.head("POST", "/ingest/hae", length: 1_000_000, token: nil)
                        let field = token.map { "X-API-Key: \($0)\r\n" } ?? ""
                        let text = head.replacing("Connection: close\r\n", with: "Connection: close\r\n\(field)")
                        return try await scene.send(raw: Array(text.utf8), within: 20)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.map(\.status) == tokens.map { _ in 401 })
            #expect(answers.allSatisfy { $0.fields["www-authenticate"] != nil })
            #expect(await scene.hub.held.count == 0)
        }
    }

    @Test
    func `A gigabyte is refused by its length or when it exceeds the limit, and the connection ends`() async throws {
        let scene = try await Scene()
        try await scene.run { () async throws in
            let port = scene.port
            let announced = try await scene.send(raw: Array(Scene.head("POST", "/ingest/hae", length: 1 << 30).utf8))
            #expect(announced.status == 413 && announced.body.contains("1048576"))
            let (chunked, sent) = try await onThread {
                let connection = try RawConnection(port)
                connection.send(
                    Scene.head("POST", "/ingest/hae", length: nil, fields: ["Transfer-Encoding": "chunked"]))
                let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 0x20, count: 65_536) + Array("\r\n".utf8)
                // Data that the other side no longer accepts is dropped.
                for _ in 0..<64 { connection.send(chunk) }
                return (try Scene.answer(String(decoding: connection.takeAll(), as: UTF8.self)), 64 * 65_536)
            }
            #expect(chunked.status == 413 && sent > 1 << 20)
            #expect(try await scene.post("/ingest/plain", #"{"weight":80}"#).status == 200)
        }
    }

    @Test func `Unfinished heads and bodies do not hold a connection, and others are served meanwhile`() async throws {
        var limits = IngestLimits()
        (limits.connection.head, limits.connection.pace) = (.milliseconds(400), .milliseconds(400))
        let scene = try await Scene(limits: limits)
        try await scene.run { () async throws in
            let port = scene.port
            let slow = Task {
                try await onThread {
                    let silent = try RawConnection(port)
                    let head = try RawConnection(port)
                    head.send("POST /ingest/hae HTTP/1.1\r\nHost: x\r\nX-")
                    let body = try RawConnection(port)
                    body.send(Scene.head("POST", "/ingest/hae", length: 100_000))
                    body.send("{\"data\":")
                    return try [silent, head, body].map { try $0.takeAll(within: 20).count }
                }
            }
            #expect(try await scene.post("/ingest/plain", #"{"weight":80}"#).status == 200)
            _ = try await slow.value
            #expect(await scene.hub.held.count == 1)
        }
    }

    @Test func `Silent connections and idle ones after an answer keep no phone out`() async throws {
        let scene = try await Scene()
        try await scene.run { () async throws in
            let port = scene.port
            let others = try await onThread {
                let silent = try (0..<200).map { _ in try RawConnection(port) }
                let idle = try (0..<100).map { _ in
                    let connection = try RawConnection(port)
                    connection.send("GET /ingest/plain HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(try connection.take(12) == Array("HTTP/1.1 204".utf8))
                    return connection
                }
                return Kept(silent + idle)
            }
            #expect(try await scene.post("/ingest/plain", #"{"weight":80}"#).status == 200)
            #expect(await scene.hub.held.count == 1)
            withExtendedLifetime(others) {}
        }
    }

    @Test func `One address has at most three quarters of the connections, and another address still gets one`()
        async throws
    {
        var limits = IngestLimits()
        // Only the number of connections may end a connection here.
        (limits.connection.pace, limits.connection.body) = (.hours(1), .hours(1))
        let scene = try await Scene(limits: limits)
        try await scene.run { () async throws in
            let port = scene.port
            @Sendable func post(from source: String) async throws -> String {
                try await onThread {
                    let connection = try RawConnection(port, from: source)
                    connection.send(Scene.head("POST", "/ingest/plain", length: 13) + #"{"weight":80}"#)
                    return String(decoding: try connection.takeAll(within: 30).prefix(12), as: UTF8.self)
                }
            }
            let slow = try await onThread {
                // The answer to the first request shows that the second one, sent with it, has begun.
                let begun = Scene.head("POST", "/ingest/plain", length: 1_000) + "{"
                return Kept(
                    try (0..<48).map { _ in
                        let connection = try RawConnection(port)
                        connection.send("GET /ingest/plain HTTP/1.1\r\nHost: x\r\n\r\n" + begun)
                        #expect(try connection.take(12, within: 30) == Array("HTTP/1.1 204".utf8))
                        return connection
                    })
            }
            #expect(try await post(from: "127.0.0.1") == "", "of 64 places one address has 48")
            #expect(try await post(from: "127.0.0.2") == "HTTP/1.1 200")
            withExtendedLifetime(slow) {}
        }
    }

    @Test func `Senders that trickle or never end are cut off, and forty of them do not keep others out`() async throws
    {
        var limits = IngestLimits()
        (limits.connection.pace, limits.connection.body) = (.milliseconds(200), .milliseconds(600))
        let scene = try await Scene(settings: ["max_body": .string("64MiB")], limits: limits)
        try await scene.run { () async throws in
            let port = scene.port
            /// Sends pieces of a body without an end until the other side has closed the connection.
            @Sendable func sendOn(_ piece: Int) async throws -> Int {
                try await onThread {
                    let connection = try RawConnection(port)
                    connection.send(
                        Scene.head("POST", "/ingest/hae", length: nil, fields: ["Transfer-Encoding": "chunked"]))
                    let bytes = [UInt8](repeating: 0x20, count: piece)
                    let chunk = Array("\(String(piece, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
                    for sent in 1...1_000 {
                        connection.send(chunk)
                        // `take` throws if there is no answer yet, and returns nothing if the connection is closed.
                        if let said = try? connection.take(1, within: 0.02) { return said.isEmpty ? sent : -1 }
                    }
                    return -2
                }
            }
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<40 { group.addTask { try await sendOn(number % 2 == 0 ? 10 : 8_192) } }
                let post = try await scene.post("/ingest/plain", #"{"weight":80}"#)
                #expect(post.status == 200)
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts.count == 40)
            #expect(counts.allSatisfy { $0 > 0 }, "\(counts)")
            #expect(await scene.hub.held.count == 1)
        }
    }

    @Test(arguments: [
        ("bad-array.json", 400), ("bad-data-array.json", 400), ("bad-nan.json", 400), ("bad-deep.json", 400),
        ("bad-truncated.json", 400), ("bad-bom.json", 200), ("bad-duplicate-member.json", 200),
    ]) func `A malformed body gets a status that its sender understands`(name: String, status: Int) async throws {
        let scene = try await Scene()
        try await scene.run { () async throws in
            let answer = try await scene.post(fixture: name, to: "/ingest/hae")
            #expect(answer.status == status, "\(answer.body)")
            #expect(await scene.hub.held.count == (name.contains("duplicate") ? 1 : 0))
        }
    }

    @Test func `Values nested to any depth get 400 at every address that takes posts`() async throws {
        let scene = try await Scene()
        try await scene.run { () async throws in
            let deep = String(repeating: "{\"data\":", count: 100_000)
            for path in [
                "/ingest/hae", "/ingest/hc-webhook", "/ingest/openscale", "/ingest/plain", "/api/v2/sync/Weight",
            ] {
                #expect(try await scene.post(path, deep).status == 400)
            }
        }
    }

    @Test(
        arguments: [
            ("multipart/form-data; boundary=b", nil, 415), ("text/csv", nil, 415),
            ("application/x-www-form-urlencoded", nil, 415), ("application/json", "br", 415), ("text/html", nil, 415),
            ("application/json; charset=utf-8", nil, 200), ("application/json ; charset=utf-8", nil, 200),
            ("Application/JSON", "identity", 200),
        ] as [(String, String?, Int)])
    func `A body of another type is refused with a request to send JSON`(type: String, encoding: String?, status: Int)
        async throws
    {
        let scene = try await Scene()
        try await scene.run { () async throws in
            var fields = ["Content-Type": type]
            fields["Content-Encoding"] = encoding
            #expect(try await scene.post("/ingest/plain", #"{"weight":80}"#, fields: fields).status == status)
        }
    }

    @Test func `Malformed requests and unknown methods do not affect other requests`() async throws {
        let scene = try await Scene()
        try await scene.run { () async throws in
            let port = scene.port
            for text in [
                "\u{16}\u{3}\u{1}\u{2}", "GET", "POST /ingest/hae HTTP/9.9\r\n\r\n",
                "POST /ingest/hae HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello",
                "POST /ingest/hae HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "y", count: 100_000))\r\n\r\n",
                "POST /ingest/hae HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
            ] {
                _ = try await onThread {
                    let connection = try RawConnection(port)
                    connection.send(text)
                    connection.endSending()
                    return try connection.takeAll(within: 20).count
                }
            }
            #expect(try await scene.send("DELETE", "/ingest/hae").status == 405)
            #expect(try await scene.send("POST", "/").status == 405)
            #expect(try await scene.post("/ingest/../ingest/plain", #"{"weight":80}"#).status == 404)
            #expect(try await scene.post("/ingest/plain", #"{"weight":80}"#).status == 200)
        }
    }
}

/// Keeps connections open for the life of this object.
private final class Kept: @unchecked Sendable {
    // The connections are used only to close them.
    private let connections: [RawConnection]

    init(_ connections: [RawConnection]) { self.connections = connections }
}
