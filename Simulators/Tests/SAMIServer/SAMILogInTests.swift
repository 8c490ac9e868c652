import Testing
import WebFaults

@testable import SAMIExchange

@Suite struct SAMILogInTests {
    private static let redirect = "http://127.0.0.1:8737/"

    /// Passes through both pages of `/authorize` like a browser, and returns the final address.
    private func walk(_ bench: SAMIBench, _ query: String, decision: String = "allow") throws -> String {
        let target = "/authorize?client_id=\(Fixtures.application)&\(query)"
        let page = try bench.send("GET", target)
        #expect(page.status == 200 && page.text.contains("name=password"))
        let hidden = try #require(page.text.split(separator: "name=query value=\"").dropFirst().first)
            .prefix { $0 != "\"" }.replacing("&amp;", with: "&")
        let wrong = try bench.send(
            "POST", "/login", form: [("query", String(hidden)), ("name", "ada"), ("password", "wrong")])
        #expect(wrong.status == 403)
        let entered = try bench.send(
            "POST", "/login", form: [("query", String(hidden)), ("name", "ada"), ("password", Fixtures.password)])
        #expect(entered.status == 303)
        let cookie = try #require(entered.field("Set-Cookie")?.split(separator: ";").first)
        let consent = try bench.send("GET", entered.field("Location") ?? "", fields: ["cookie": String(cookie)])
        #expect(consent.text.contains("Ada Example"))
        let mark = try #require(consent.text.split(separator: "name=mark value=\"").dropFirst().first)
            .prefix { $0 != "\"" }
        let forged = try bench.send(
            "POST", "/consent", form: [("query", String(hidden)), ("mark", "guessed"), ("decision", "allow")],
            fields: ["cookie": String(cookie)])
        #expect(forged.field("Location") == nil, "another site's form is of no use")
        let answer = try bench.send(
            "POST", "/consent", form: [("query", String(hidden)), ("mark", String(mark)), ("decision", decision)],
            fields: ["cookie": String(cookie)])
        #expect(answer.status == 302)
        return try #require(answer.field("Location"))
    }

    private func members(_ text: Substring) -> [String: String] {
        Dictionary(uniqueKeysWithValues: WebRequest("GET", "/?" + text).query.map { ($0.name, $0.value) })
    }

    @Test func `The implicit grant puts the token last in the fragment, as shipped clients need it`() throws {
        let bench = try SAMIBench()
        let end = try walk(
            bench, "client=mobile&response_type=token&state=a%20b&redirect_uri=\(WebRequest.encoded(Self.redirect))")
        #expect(end.hasPrefix(Self.redirect + "#expires_in=1209600&token_type=bearer&refresh_token="))
        let token = try #require(end.split(separator: "=").last)
        #expect(try bench.send("GET", "/v1.1/users/self", token: String(token)).status == 200)
        let fragment = members(end.split(separator: "#").last ?? "")
        #expect(fragment["state"] == "a b")
        let renewed = try bench.send(
            "POST", "/token", token: String(token),
            form: [("grant_type", "refresh_token"), ("refresh_token", fragment["refresh_token"] ?? "")])
        #expect(renewed.status == 200 && renewed.field("Cache-Control") == "no-store")
        #expect(try bench.send("GET", "/v1.1/users/self", token: String(token)).status == 401, "the old one is gone")
    }

    @Test func `A code gives a token once, within a minute, and only with its proof`() throws {
        let bench = try SAMIBench()
        // The pair from RFC 7636, appendix B.
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let end = try walk(bench, "response_type=code&code_challenge_method=S256&code_challenge=\(challenge)")
        let code = try #require(members(end.split(separator: "?").last ?? "")["code"])
        func exchange(_ verifier: String) throws -> WebAnswer {
            try bench.send(
                "POST", "/token",
                form: [
                    ("grant_type", "authorization_code"), ("code", code), ("code_verifier", verifier),
                    ("client_id", Fixtures.application),
                ])
        }
        #expect(try exchange("guessed").status == 400)
        #expect(try exchange(verifier).status == 200)
        #expect(try exchange(verifier).status == 400, "once")
        let later = try walk(bench, "response_type=code")
        let second = try #require(members(later.split(separator: "?").last ?? "")["code"])
        bench.clock.move(seconds: 60)
        let late = try bench.send(
            "POST", "/token",
            form: [
                ("grant_type", "authorization_code"), ("code", second), ("client_id", Fixtures.application),
                ("client_secret", Fixtures.secret),
            ])
        #expect(late.text == #"{"error":"invalid_request"}"#)
    }

    @Test func `A denied consent returns access_denied`() throws {
        let bench = try SAMIBench()
        #expect(try walk(bench, "response_type=token", decision: "deny") == Self.redirect + "#error=access_denied")
        #expect(
            try walk(bench, "response_type=code&state=x", decision: "deny") == Self.redirect
                + "?error=access_denied&state=x")
    }

    @Test func `Invalid authorization requests fail without a redirect or with one`() throws {
        let bench = try SAMIBench()
        #expect(try bench.send("GET", "/authorize?client_id=nobody&response_type=token").status == 400)
        let other = try bench.send(
            "GET",
            "/authorize?client_id=\(Fixtures.application)&response_type=token&redirect_uri=http%3A%2F%2Felsewhere%2F")
        #expect(other.status == 400 && other.text.contains("redirect_uri parameter is invalid"))
        let kind = try bench.send("GET", "/authorize?client_id=\(Fixtures.application)&response_type=magic")
        #expect(kind.field("Location") == Self.redirect + "?error=invalid_request")
    }

    @Test func `An application's own token names no user and cannot be renewed`() throws {
        let bench = try SAMIBench()
        let made = try bench.send(
            "POST", "/token?grant_type=client_credentials", form: [],
            fields: [
                "authorization":
                    "Basic YTExY2UwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwYWE6NWVjMmU3MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwNWE="
            ])
        let answer = try #require(JSONTree(made.body))
        #expect(made.status == 200 && answer["refresh_token"] == nil)
        let token = try #require(answer["access_token"]?.text)
        #expect(try bench.send("GET", "/v1.1/users/self", token: token).status == 403)
        #expect(try bench.send("GET", "/v1.1/users/\(Fixtures.user)/devices", token: token).status == 403)
        _ = try bench.token()  // The user allows the application something.
        #expect(try bench.send("GET", "/v1.1/users/\(Fixtures.user)/devices", token: token).status == 200)
        let refused = try bench.send(
            "POST", "/token",
            form: [("grant_type", "client_credentials"), ("client_id", Fixtures.application), ("client_secret", "no")])
        #expect(refused.text == #"{"error":"unauthorized_client"}"#)
    }

    @Test func `A device without a browser polls until a person allows it`() throws {
        let bench = try SAMIBench()
        let asked = try bench.send("POST", "/device/code", form: [("client_id", Fixtures.application)])
        let codes = try #require(JSONTree(asked.body))
        let form = [
            ("grant_type", "device_code"), ("code", codes["device_code"]?.text ?? ""),
            ("client_id", Fixtures.application), ("client_secret", Fixtures.secret),
        ]
        func poll(after seconds: Double) throws -> String {
            bench.clock.move(seconds: seconds)
            return try bench.send("POST", "/token", form: form).text
        }
        #expect(try poll(after: 0) == #"{"error":"authorization_pending"}"#)
        #expect(try poll(after: 5) == #"{"error":"authorization_pending"}"#)
        #expect(try poll(after: 4) == #"{"error":"slow_down"}"#)
        #expect(try poll(after: 9) == #"{"error":"slow_down"}"#, "five seconds more each time")
        #expect(try poll(after: 15) == #"{"error":"authorization_pending"}"#)
        let query = "user_code=\(codes["user_code"]?.text ?? "")"
        let entered = try bench.send(
            "POST", "/login", form: [("query", query), ("name", "ada"), ("password", Fixtures.password)])
        let cookie = String(try #require(entered.field("Set-Cookie")?.split(separator: ";").first))
        let page = try bench.send("GET", "/device?\(query)", fields: ["cookie": cookie])
        let mark = try #require(page.text.split(separator: "name=mark value=\"").dropFirst().first)
            .prefix { $0 != "\"" }
        _ = try bench.send(
            "POST", "/device", form: [("query", query), ("mark", String(mark)), ("decision", "allow")],
            fields: ["cookie": cookie])
        #expect(try bench.send("POST", "/token", form: form).status == 200)
    }

    @Test func `Tokens are revoked in both dialects, and by logging out`() throws {
        let bench = try SAMIBench()
        let self_ = "/v1.1/users/self"
        let first = try bench.token()
        #expect(try bench.send("PUT", "/revokeToken", token: first).status == 200)
        #expect(try bench.send("GET", self_, token: first).status == 401)
        let second = try bench.token()
        let application = try bench.send(
            "POST", "/token",
            form: [
                ("grant_type", "client_credentials"), ("client_id", Fixtures.application),
                ("client_secret", Fixtures.secret),
            ])
        let proof = try #require(JSONTree(application.body)?["access_token"]?.text)
        let revoked = try bench.send("PUT", "/revokeAccessToken?client_credentials=\(proof)&token=\(second)")
        #expect(revoked.status == 200 && revoked.text.contains("revoked"))
        #expect(try bench.send("GET", self_, token: second).status == 401)

        let third = try bench.token()
        let entered = try bench.send(
            "POST", "/login", form: [("query", ""), ("name", "ada"), ("password", Fixtures.password)])
        let cookie = String(try #require(entered.field("Set-Cookie")?.split(separator: ";").first))
        let end = try bench.send(
            "GET", "/logout?state=s&redirect_uri=\(WebRequest.encoded(Self.redirect))", fields: ["cookie": cookie])
        #expect(end.field("Location") == Self.redirect + "?status=logout&state=s")
        #expect(try bench.send("GET", self_, token: third).status == 401)
    }

    @Test func `An app's logout ends all tokens of its person for this application only`() throws {
        let bench = try SAMIBench()
        let other = try bench.exchange.control(
            WebRequest(
                "POST", "/control/applications",
                body: Array(
                    #"{"id":"other","name":"Other","redirect":"other://x","grants":"token","permissions":{"*":"read"}}"#
                        .utf8)))
        #expect(other?.status == 200)
        let foreign = try bench.exchange.control(
            WebRequest("POST", "/control/tokens", body: Array(#"{"application":"other"}"#.utf8)))
        let others = try #require(JSONTree(foreign?.body ?? [])?["access_token"]?.text)
        let (first, second) = (try bench.token(), try bench.token())
        let back = WebRequest.encoded(Self.redirect)
        func takes(_ token: String) throws -> Bool {
            try bench.send("GET", "/v1.1/users/self", token: token).status == 200
        }
        #expect(try bench.send("GET", "/logout?redirect_uri=\(back)", token: "unknown").status == 401)
        #expect(try bench.send("GET", "/logout?redirect_uri=\(back)", token: others).status == 400)
        #expect(try [first, second, others].map(takes) == [true, true, true])
        let end = try bench.send("GET", "/logout?redirect_uri=\(back)", token: first)
        #expect(end.status == 302 && end.field("Location") == Self.redirect + "?status=logout")
        #expect(try [first, second, others].map(takes) == [false, false, true])

        let lasting = try SAMIBench { $0.logoutRevokes = false }
        let token = try lasting.token()
        #expect(try lasting.send("GET", "/logout?redirect_uri=\(back)", token: token).status == 302)
        #expect(try lasting.send("GET", "/v1.1/users/self", token: token).status == 200)
    }
}
