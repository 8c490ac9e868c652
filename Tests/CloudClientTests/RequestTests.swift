import CloudClient
import Foundation
import PluginKit
import Synchronization
import Testing

@Suite struct RequestTests {
    /// What arrives of `request`.
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

    @Test func `A query is escaped, and stands behind the base's own path`() async throws {
        let request = CloudRequest(.get, "/messages last", query: [("sdids", "a,b"), ("q", "ü & 1=1+1")])
        let text = try await sent(request, path: "/v1.1/")
        #expect(text.hasPrefix("GET /v1.1/messages%20last?sdids=a%2Cb&q=%C3%BC%20%26%201%3D1%2B1 HTTP/1.1\r\n"))
    }

    @Test func `A form, JSON and a token arrive as they should`() async throws {
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

    @Test func `A weight travels as it was measured`() throws {
        #expect(try CloudRequest.json("/", ["value": 80.57]).body?.bytes == Data(#"{"value":80.57}"#.utf8))
    }

    @Test func `A redirect is an answer, and the token does not follow it`() async throws {
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
        // Two clients, too: the process has one set of connections. It closes them when the last client is gone.
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

    @Test func `An answer that is no success says its status, and nothing of what it says`() async throws {
        let service = try StandIn { talk, _ in
            while talk.request() != nil { talk.answer("403 Forbidden", [], hidden) }
        }
        let answer = try await client(service).send(secretRequest(.get))
        #expect(String(decoding: answer.body, as: UTF8.self) == hidden)
        let error = try #require(throws: CloudError.self) { try answer.successful() }
        #expect(error.code == .answered(403) && !error.mayHaveHadEffect)
        #expect(!"\(answer) \(error) \(String(reflecting: secretRequest(.get)))".contains(hidden))
    }

    @Test func `JSON that is not as expected is told by its place alone`() async throws {
        struct Page: Decodable { var data: [Entry] }
        struct Entry: Decodable { var token: Int }
        let service = try StandIn { talk, _ in
            _ = talk.request()
            talk.answer("200 OK", [], #"{"data":[{"token":"\#(hidden)"}]}"#)
        }
        let answer = try await client(service).send(CloudRequest(.get, "/page"))
        let error = try #require(throws: CloudError.self) { try answer.json(Page.self) }
        #expect(error.code == .malformed && error.message.hasSuffix("cannot be read at data.[0].token"))
        #expect(!error.message.contains(hidden))
    }
}

@Suite struct ServiceAddressTests {
    @Test(arguments: [
        "https://exist.io", "https://api.example.org:8443/openapiv2/", "http://127.0.0.1:8090", "http://localhost:80",
        "http://[::1]:8090", "HTTPS://EXIST.IO",
    ])
    func `https anywhere and http to this machine are taken`(_ text: String) throws {
        #expect(try !ServiceAddress(text).text.hasSuffix("/"))
    }

    @Test(arguments: [
        "http://exist.io", "http://127.0.0.1.example.org", "http://192.168.1.7", "ftp://exist.io", "exist.io",
        "https://",
        "https://user:s3cret@exist.io", "https://exist.io?token=s3cret", "https://exist.io/#s3cret", "",
    ])
    func `Anything else is a fault of the setting, which is not shown`(_ text: String) throws {
        let error = try #require(throws: PluginFailure.self) { try ServiceAddress(text, setting: "base") }
        #expect(error.exit == .settings && error.message.hasPrefix("setting base: "))
        #expect(!error.message.contains(hidden))
    }

    @Test func `http to another machine needs a setting of its own`() throws {
        let declared = ServiceAddress.settings(default: "https://exist.io")
        #expect(declared.map(\.name) == ["base", "plain_http"])
        #expect(SettingDeclaration.faults(in: declared).isEmpty)
        let base = SettingValue.string("http://192.168.1.7:8090")
        #expect(throws: PluginFailure.self) { try ServiceAddress(PluginSettings(["base": base])) }
        let allowed = PluginSettings(["base": base, "plain_http": .boolean(true)])
        #expect(try ServiceAddress(allowed).host == "192.168.1.7:8090")
    }
}
