import CloudClient
import Foundation
import PluginKit
import Synchronization
import Testing

/// The requests for tokens; the whole log-in is in JourneyTests, and of each service in its plugin's tests.
@Suite struct OAuthClientTests {
    private static let answer = #"{"access_token":"new","refresh_token":"r2","expires_in":60,"token_type":"Bearer"}"#
    private static let old = OAuthToken(
        accessToken: Secret("old"), refreshToken: Secret("r1"), user: "Mira", extra: ["uid": "7"])

    /// The request that the service received, and the client's result; the service answers once.
    private func ask<Value>(
        _ status: String = "200 OK", _ body: String = answer, with change: (inout OAuthClient) -> Void = { _ in },
        _ question: (OAuthClient) async throws -> Value
    ) async throws -> (texts: [String], result: Result<Value, any Error>) {
        let seen = Mutex([String]())
        let service = try StandIn { talk, _ in
            while let text = talk.request() {
                seen.withLock { $0.append(text) }
                talk.answer(status, [], body)
            }
        }
        let client = CloudClient(try ServiceAddress(service.base), pace: TestPace().pace)
        var oauth = OAuthClient(
            client, page: "https://example.org/authorize", path: "/token", id: "i d", secret: Secret("s:1"),
            redirect: "http://127.0.0.1:8737/", scope: "weight")
        change(&oauth)
        let result: Result<Value, any Error>
        do { result = .success(try await question(oauth)) } catch { result = .failure(error) }
        return (seen.withLock { $0 }, result)
    }

    @Test func `a renewed token keeps the person and the plugin's own members of the old one`() async throws {
        let (texts, result) = try await ask { try await $0.renewed(Self.old, at: 1_000_000) }
        let token = try result.get()
        #expect(token.accessToken.reveal() == "new" && token.refreshToken?.reveal() == "r2")
        #expect(token.user == "Mira" && token.extra == ["uid": "7"])
        #expect(token.expiresAt?.microseconds == 61_000_000)
        let text = try #require(texts.first)
        #expect(text.hasPrefix("POST /token HTTP/1.1\r\n"))
        #expect(text.hasSuffix("\r\n\r\ngrant_type=refresh_token&refresh_token=r1&client_id=i%20d&client_secret=s%3A1"))
    }

    @Test func `the client is proved in the form, by HTTP Basic, or with the old token`() async throws {
        let basic = try await ask(with: { $0.proof = .basic }) { try await $0.renewed(Self.old, at: 0) }.texts[0]
        #expect(basic.contains("Authorization: Basic aSBkOnM6MQ==\r\n") && !basic.contains("client_"))
        let token = try await ask(with: { $0.proof = .token }) { try await $0.renewed(Self.old, at: 0) }.texts[0]
        #expect(token.contains("Authorization: Bearer old\r\n") && !token.contains("client_"))
        let open = try await ask(with: { $0.secret = nil }) { try await $0.renewed(Self.old, at: 0) }.texts[0]
        #expect(!open.contains("Authorization:") && open.hasSuffix("&client_id=i%20d"))
    }

    @Test func `a service with its own names has further members, GET, and its own reading`() async throws {
        let (texts, result) = try await ask(
            "200 OK", #"{"body":{"access":"x"}}"#,
            with: {
                $0.members = [("action", "requesttoken")]
                $0.method = .get
                $0.reading = { answer, now, former in
                    struct Wrapped: Decodable {
                        struct Body: Decodable { var access: String }
                        var body: Body
                    }
                    return OAuthToken(
                        accessToken: Secret(try answer.json(Wrapped.self).body.access),
                        expiresAt: Timestamp(microseconds: now), user: former?.user)
                }
            }
        ) { try await $0.renewed(Self.old, at: 5) }
        #expect(try #require(texts.first).hasPrefix("GET /token?action=requesttoken&grant_type=refresh_token&"))
        let token = try result.get()
        #expect(token.accessToken.reveal() == "x" && token.expiresAt?.microseconds == 5 && token.user == "Mira")
    }

    @Test(
        arguments: [
            ("400 -", #"{"error":"invalid_grant","error_description":"over"}"#, "invalid_grant: over"),
            ("401 -", #"{"error":"invalid_client"}"#, "invalid_client"), ("503 -", "busy", nil),
            ("400 -", #"{"error":"slow_down"}"#, nil), ("200 OK", "{}", nil), ("200 OK", #"{"access_token":""}"#, nil),
        ] as [(String, String, String?)])
    func `a refusal ends the log-in, and any other answer is asked for again later`(
        _ status: String, _ body: String, _ refusal: String?
    ) async throws {
        let (texts, result) = try await ask(status, body) { try await $0.renewed(Self.old, at: 0) }
        #expect(texts.count == 1, "a code or a refresh token is good for one answer")
        let error = #expect(throws: (any Error).self) { try result.get() }
        #expect((error as? LogInRefused)?.reason == refusal)
        if refusal == nil { #expect((error as? CommandFailure)?.code == "service") }
    }

    @Test(arguments: [
        ("401 -", #"{"error":"invalid_client"}"#, false), ("400 -", #"{"error":"unauthorized_client"}"#, false),
        ("400 -", #"{"error":"invalid_grant"}"#, true), ("200 OK", answer, true),
    ])
    func `an invented refresh token shows whether the service knows the client`(
        _ status: String, _ body: String, _ isKnown: Bool
    ) async throws {
        let (texts, result) = try await ask(status, body) { try await $0.isRegistered(at: 0) }
        #expect(try result.get() == isKnown)
        #expect(try #require(texts.first).contains("refresh_token=none"))
    }
}
