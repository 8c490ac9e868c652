import Foundation
import HubWire
import Platform
import PluginTesting
import Samples
import Testing

@testable import PluginKit

/// A plugin with log-ins to a service inside the test.
private struct Cloudy: SourcePlugin {
    static let manifest = Manifest(name: "cloudy", summary: "Logs in.", version: "1.0", writes: ["weight"])
    static let commands: [Command<Self>] = [
        .logIn(
            help: "Logs in.",
            arguments: [
                .init("loose", .boolean, help: "The answer may lack the state.", default: .boolean(false)),
                .init("implicit", .boolean, help: "The token is in the fragment.", default: .boolean(false)),
            ]
        ) { _, call in
            let isLoose = try call.arguments.boolean("loose")
            let answer = try await call.authorize(
                Authorization(
                    page: "https://cloud.example/authorize?lang=de",
                    parameters: [("client_id", "c d"), ("response_type", "code")], redirect: "http://localhost:8737/",
                    state: isLoose ? .ifReturned : .required))
            if try call.arguments.boolean("implicit") {
                return LogIn(account: "me", token: try answer.token(at: 1_700_000_000_000_000))
            }
            let code = try answer.code()
            guard code != "stale" else { throw LogInRefused("invalid_grant") }
            let proof = answer.verifier.map { Base64URL.text(Digests.sha256($0.reveal().utf8)) } ?? ""
            return LogIn(account: "me", token: OAuthToken(accessToken: Secret(proof), user: code, extra: ["id": "7"]))
        },
        .logOut(help: "Revokes.") { _, _, token in
            guard token.accessToken.reveal() != "stubborn" else { throw CommandFailure("service", "not today") }
            return token.accessToken.reveal() == "void" ? .unknown : .revoked
        },
    ]

    func run(_ hub: PluginContext) async throws {
        let keeper = TokenKeeper(hub, account: "me") { $0 }
        let token = try await keeper.tokenOnceLoggedIn()
        if token.user == "awaited" { try await keeper.put(OAuthToken(accessToken: token.accessToken, user: "seen")) }
        await hub.untilStopped()
    }
}

@Suite(.timeLimit(.minutes(1))) struct LogInTests {
    private func withPlugin(_ body: (FakeHub, Scene) async throws -> Void) async throws {
        let scene = try await Scene()
        let run = PluginRun(Cloudy(), at: scene.place)
        await scene.hub.hellos(1)
        try await body(scene.hub, scene)
        try await scene.end(run)
    }

    /// Begins a log-in; returns its question and the query members of the page's address.
    private func begin(
        _ hub: FakeHub, _ arguments: String = "{}"
    ) async throws -> (call: Int64, question: CommandQuestion, members: [String: String]) {
        let call = await hub.begin("login", try #require(RawJSON(arguments)))
        guard case .ask(let question) = await hub.outcome(of: call) else {
            throw CommandFailure("test", "login asked no question")
        }
        let url = try #require(question.url)
        return (call, question, FormText.read(url.split(separator: "?", maxSplits: 1)[1]))
    }

    private func failure(_ outcome: CommandOutcome.Content) -> String {
        if case .failed(let code, let reason) = outcome { "\(code): \(reason)" } else { "\(outcome)" }
    }

    @Test
    func `R11.9 a log-in asks for its page with a fresh state and challenge, and stores the token before it is done`()
        async throws
    {
        try await withPlugin { hub, _ in
            let (call, question, members) = try await begin(hub)
            #expect(question.redirect == "http://localhost:8737/" && question.isSecret)
            #expect(question.url?.hasPrefix("https://cloud.example/authorize?lang=de&client_id=c%20d&") == true)
            #expect(members["redirect_uri"] == "http://localhost:8737/" && members["code_challenge_method"] == "S256")
            let state = try #require(members["state"])
            #expect(state.utf8.count == 43)
            await hub.answer(call, .string("http://localhost:8737/?code=c1&state=\(state)"))
            guard case .done(let result) = await hub.outcome(of: call) else {
                Issue.record("not done")
                return
            }
            #expect(result?.text == #"{"account":"me","renewable":false,"user":"c1"}"#)
            let stored = try #require(await hub.tokens["me"]?.json)
            let token = try JSONDecoder().decode(OAuthToken.self, from: Data(stored.bytes))
            #expect(token.accessToken.reveal() == members["code_challenge"], "the verifier matches the challenge")
            #expect(token.user == "c1" && token.extra == ["id": "7"])
            let again = try await begin(hub)
            #expect(again.members["state"] != state && again.members["code_challenge"] != members["code_challenge"])
            await hub.cancel(again.call)
            #expect(await hub.outcome(of: again.call) == .cancelled)
        }
    }

    @Test func `a plugin that waits for a log-in continues after it`() async throws {
        let scene = try await Scene()
        let run = PluginRun(Cloudy(), at: scene.place)
        await scene.hub.hellos(1)
        let (call, _, members) = try await begin(scene.hub)
        await scene.hub.answer(call, .string("?code=awaited&state=\(members["state"] ?? "")"))
        _ = await scene.hub.outcome(of: call)
        #expect(await scene.hub.token(of: "me", version: 2)?.text.contains("seen") == true)
        try await scene.end(run)
    }

    @Test(arguments: [
        ("http://localhost:8737/?code=c1&state=other", "{}", "state: this answer belongs to another log-in"),
        ("http://localhost:8737/?code=c1", "{}", "state: this answer belongs to another log-in"),
        ("http://localhost:8737/?code=c1&state=other", #"{"loose":true}"#, "state: this answer belongs to another"),
        ("http://localhost:8737/?error=access_denied&error_description=no%20way", "{}", "denied: the service says"),
        ("http://localhost:8737/#error=unauthorized_client", "{}", "answer: the service refuses to begin: unauth"),
        ("http://localhost:8737/?scope=a&state=STATE", "{}", "answer: the service came back without code, but with sc"),
        ("http://localhost:8737/?code=&state=STATE", "{}", "answer: the service came back without code, but with code"),
        ("stale", "{}", "refused: the service refuses the log-in: invalid_grant; begin again"),
        ("", "{}", "answer: the service came back without code"),
    ])
    func `R11.10 an answer of another log-in, a denial and an invalid answer are distinguished and store no token`(
        _ answer: String, _ arguments: String, _ expected: String
    ) async throws {
        try await withPlugin { hub, _ in
            let (call, _, members) = try await begin(hub, arguments)
            await hub.answer(call, .string(answer.replacing("STATE", with: members["state"] ?? "")))
            let reason = failure(await hub.outcome(of: call))
            #expect(reason.hasPrefix(expected), "\(reason)")
            #expect(await hub.tokens["me"]?.json == nil)
        }
    }

    @Test(arguments: [
        ("http://localhost:8737/#expires_in=60&token_type=bearer&state=STATE&access_token=t1", "{}"),
        ("  http://localhost:8737/#access_token=t1&amp;state=STATE&amp;expires_in=60\n", "{}"),
        ("http://localhost:8737/?access_token=t1&state=STATE&expires_in=60", "{}"),
        ("http://localhost:8737/?x=1#access_token=t1&expires_in=60", #""loose":true"#),
    ])
    func `a token is read from the fragment or the query, in any order`(_ answer: String, _ loose: String) async throws
    {
        try await withPlugin { hub, _ in
            let more = loose == "{}" ? "" : ",\(loose)"
            let (call, _, members) = try await begin(hub, "{\"implicit\":true\(more)}")
            await hub.answer(call, .string(answer.replacing("STATE", with: members["state"] ?? "")))
            let outcome = await hub.outcome(of: call)
            let expected = #"{"account":"me","expires":"2023-11-14T22:14:20Z","renewable":false}"#
            #expect(outcome == .done(result: RawJSON(expected)))
            #expect(await hub.tokens["me"]?.json?.text.contains(#""access_token":"t1""#) == true)
        }
    }

    @Test func `R11.12 a log-out has the service revoke the stored token, and reports a failure to do so`() async throws
    {
        try await withPlugin { hub, _ in
            let account = try #require(RawJSON(#"{"account":"me"}"#))
            #expect(await hub.command("logout", account) == .done(result: nil), "there is nothing to revoke")
            await hub.setToken(RawJSON(#"{"access_token":"a"}"#), of: "me")
            #expect(await hub.command("logout", account) == .done(result: RawJSON(#"{"service":"revoked"}"#)))
            await hub.setToken(RawJSON(#"{"access_token":"void"}"#), of: "me")
            #expect(await hub.command("logout", account) == .done(result: RawJSON(#"{"service":"unknown"}"#)))
            await hub.setToken(RawJSON(#"{"access_token":"stubborn"}"#), of: "me")
            #expect(failure(await hub.command("logout", account)) == "service: not today")
        }
    }

    @Test func `a challenge is that of RFC 7636, appendix B`() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(Base64URL.text(Digests.sha256(verifier.utf8)) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func `a form reads back as it was written`() {
        let members = [("a b", "ü=&+%"), ("plain", "x-._~"), ("empty", "")]
        let text = FormText.write(members.map { (name: $0.0, value: $0.1) })
        #expect(text == "a%20b=%C3%BC%3D%26%2B%25&plain=x-._~&empty=")
        #expect(FormText.read(text) == Dictionary(members, uniquingKeysWith: { $1 }))
        #expect(FormText.read("a+b=1&broken&c=%zz&a+b=2") == ["a b": "1", "c": "%zz"])
    }

    @Test(arguments: [
        (200, #"{"access_token":"a","expires_in":60}"#, "token"), (200, "<html>", "service"), (200, "{}", "service"),
        (400, #"{"error":"invalid_grant"}"#, "invalid_grant"), (401, #"{"error":"invalid_client"}"#, "invalid_client"),
        (400, #"{"error":"temporarily_unavailable"}"#, "service"), (400, "nonsense", "service"), (503, "", "service"),
        (429, #"{"error":"rate"}"#, "service"),
    ])
    func `the answer of a token endpoint is a token, a refusal, or an error worth a retry`(
        _ status: Int, _ body: String, _ expected: String
    ) {
        let found: String
        do {
            _ = try OAuthToken(status: status, body: Data(body.utf8), at: 0)
            found = "token"
        } catch let refusal as LogInRefused {
            found = refusal.reason
        } catch let failure as CommandFailure {
            found = failure.code
        } catch {
            found = "\(error)"
        }
        #expect(found == expected)
    }
}
