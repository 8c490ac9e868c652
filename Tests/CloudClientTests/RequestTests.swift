import CloudClient
import Foundation
import PluginKit
import Synchronization
import Testing

@Suite struct RequestTests {
    /// The text of `request` as the service receives it.
    private func sent(_ request: CloudRequest, path: String = "") async throws -> String {
        let seen = Mutex("")
        let service = try StandIn { talk, _ in
            let text = talk.request() ?? ""
            seen.withLock { $0 = text }
            talk.answer()
        }
        let client = CloudClient(try ServiceAddress(service.base + path), pace: TestPace().pace)
        _ = try await client.send(request)
        return seen.withLock { $0 }
    }

    @Test func `A query is escaped, and follows the base's own path`() async throws {
        let request = CloudRequest(.get, "/messages last", query: [("sdids", "a,b"), ("q", "ü & 1=1+1")])
        let text = try await sent(request, path: "/v1.1/")
        #expect(text.hasPrefix("GET /v1.1/messages%20last?sdids=a%2Cb&q=%C3%BC%20%26%201%3D1%2B1 HTTP/1.1\r\n"))
    }

    @Test func `A form, JSON and a token arrive in the right encoding`() async throws {
        let form = try await sent(.form("/token", [("code", "a b"), ("x", "ü")]).authorized(Secret("abc")))
        #expect(form.hasPrefix("POST /token HTTP/1.1\r\n"))
        #expect(form.contains("Content-Type: application/x-www-form-urlencoded\r\n"))
        #expect(form.contains("Authorization: Bearer abc\r\n"))
        #expect(form.hasSuffix("\r\n\r\ncode=a%20b&x=%C3%BC"))

        let json = try await sent(.json("/update/", [["name": "weight"]]).authorized(Secret("abc"), scheme: "Token"))
        #expect(json.contains("Content-Type: application/json\r\n"))
        #expect(json.contains("Authorization: Token abc\r\n"))
        #expect(json.hasSuffix("\r\n\r\n[{\"name\":\"weight\"}]"))
    }

    @Test func `A weight is sent with exactly its digits`() throws {
        #expect(try CloudRequest.json("/", ["value": 80.57]).body?.bytes == Data(#"{"value":80.57}"#.utf8))
    }

    @Test func `A redirect is returned as an answer, and the token is not sent to its target`() async throws {
        let elsewhere = try StandIn { talk, _ in talk.stall() }
        let target = elsewhere.base
        let service = try StandIn { talk, _ in
            _ = talk.request()
            talk.answer("302 Found", ["Location: \(target)/"])
        }
        let answer = try await client(service).send(secretRequest(.get))
        #expect(answer.status == 302 && answer.header("location") == "\(target)/")
        #expect(elsewhere.connections.withLock { $0 } == 0)
    }

    @Test func `Two requests use one connection`() async throws {
        let service = try StandIn { talk, _ in
            while talk.request() != nil { talk.answer() }
        }
        _ = try await client(service).send(CloudRequest(.get, "/"))
        _ = try await client(service).send(CloudRequest(.get, "/"))
        // Two clients as well, because the process has one set of connections. It closes them when the last client is released.
        let kept = try client(service)
        _ = try await kept.send(CloudRequest(.get, "/"))
        _ = try await kept.send(CloudRequest(.get, "/"))
        #expect(service.connections.withLock { $0 } <= 3)
    }

    @Test func `A header with a line break is not sent`() async throws {
        let service = try StandIn { talk, _ in talk.stall() }
        var request = CloudRequest(.post, "/")
        request.headers = [("X-Key", "\(hidden)\r\nEvil: 1")]
        let error = try await failure { try await client(service).send(request) }
        #expect(error.code == .request && !error.mayHaveHadEffect && !error.message.contains(hidden))
    }

    @Test func `The error for an unsuccessful answer has its status, and nothing of its body`() async throws {
        let service = try StandIn { talk, _ in
            while talk.request() != nil { talk.answer("403 Forbidden", [], hidden) }
        }
        let answer = try await client(service).send(secretRequest(.get))
        #expect(String(decoding: answer.body, as: UTF8.self) == hidden)
        let error = try #require(throws: CloudError.self) { try answer.successful() }
        #expect(error.code == .answered(403) && !error.mayHaveHadEffect)
        #expect(!"\(answer) \(error) \(String(reflecting: secretRequest(.get)))".contains(hidden))
    }

    @Test func `Unexpected JSON is reported only with its path`() async throws {
        struct Page: Decodable { var data: [Entry] }
        struct Entry: Decodable { var token: Int }
        let service = try StandIn { talk, _ in
            _ = talk.request()
            talk.answer("200 OK", [], #"{"data":[{"token":"\#(hidden)"}]}"#)
        }
        let answer = try await client(service).send(CloudRequest(.get, "/page"))
        let error = try #require(throws: CloudError.self) { try answer.json(Page.self) }
        #expect(error.code == .malformed && error.message.hasSuffix("an unreadable body at data.[0].token"))
        #expect(!error.message.contains(hidden))
    }
}
