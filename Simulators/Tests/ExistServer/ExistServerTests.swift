import Foundation
import FoundationNetworking
import HubProcess
import Testing
import WebFaults

@Suite(.timeLimit(.minutes(1))) struct ExistServerTests {
    @Test func `the order of checks is token, rate limit, write right, slash, list, length`() async throws {
        let scene = try await ExistScene(["rate_limit": "6", "max_batch": "2"])
        let path = "/api/2/attributes/update/"
        #expect(try await scene.send("POST", path, json: "[]").status == 401)
        #expect(try await scene.send("GET", "/api/2/nowhere/", token: "Bearer wrong").status == 401)
        let simple = try await scene.send("POST", "/api/2/auth/simple-token/", form: "username=mira&password=s3cret")
        let reader = "Token \(try #require(simple.json?["token"]?.text))"
        #expect(
            try await scene.send("POST", "/api/2/auth/simple-token/", json: #"{"username":"mira","password":"x"}"#)
                .status == 400)
        #expect(try await scene.send("GET", "/api/2/accounts/profile/", token: reader).status == 200)
        #expect(try await scene.send("POST", path, token: reader, json: "[]").status == 403)
        #expect(try await scene.send("GET", "/api/2/attributes/owned/", token: reader).status == 403)
        let token = try await scene.token()
        #expect(try await scene.send("GET", "/api/2/accounts/profile/", token: "Token \(token)").status == 401)
        #expect(try await scene.send("POST", "/api/2/attributes/update", token: token, json: "[]").status == 404)
        #expect(try await scene.send("POST", path, token: token, json: "{}").status == 400)
        #expect(try await scene.send("POST", path, token: token, json: "[").status == 400)
        #expect(try await scene.send("POST", path, token: token, json: "[{},{},{}]").status == 400)
        #expect(try await scene.send("POST", path, token: token, json: "[]").status == 200)
        #expect(try await scene.send("POST", path, token: token, json: "[{}]").status == 202)
        #expect(try await scene.send("POST", path, token: token, json: "[]").status == 429, "the seventh in this hour")
        #expect(try await scene.send("GET", "/api/2/accounts/profile/", token: reader).status == 200, "has its own")
    }

    @Test func `each object is accepted or refused separately, and values keep their digits`() async throws {
        let scene = try await ExistScene()
        let token = try await scene.token()
        try await scene.acquire(token, "weight", "body_fat", "steps", "sleep_start", "mood_note")
        let answer = try await scene.update(
            token,
            """
            [{"name":"weight","date":"2024-05-20","value":80.57},{"name":"weight","date":"2024-05-19","value":81},
             {"name":"steps","date":"2024-05-20","value":7200},{"name":"steps","date":"2024-05-19","value":7200.0},
             {"name":"steps","date":"2024-05-20"},{"name":"nothing","date":"2024-05-20","value":1},
             {"name":"weight","date":"2024-05-21","value":80},{"name":"weight","date":"2024-5-1","value":80},
             {"name":"weight","date":"2024-02-30","value":80},{"name":"weight","date":"2024-05-20","value":null},
             {"name":"weight","date":"2024-05-20","value":"80"},{"name":"body_fat","date":"2024-05-20","value":0.2215},
             {"name":"sleep_start","date":"2024-05-20","value":630},
             {"name":"mood_note","date":"2024-05-20","value":"good"},
             {"name":"mood_note","date":"2024-05-19","value":"\(String(repeating: "x", count: 1_001))"},7]
            """)
        #expect(answer.status == 202 && answer.done == 6)
        #expect(
            answer.codes == [
                "validation", "missing_field", "not_found", "validation", "validation", "validation", "validation",
                "validation", "validation", "missing_field",
            ])
        let texts = answer.json?["failed"]?.list?.compactMap { $0["error"]?.text } ?? []
        #expect(texts[0] == "Cannot apply a float to an integer type")
        #expect(texts[1] == "Object at index 4 missing field(s) 'value'")
        #expect(texts.last == "Object at index 15 missing field(s) 'name', 'date', 'value'")
        #expect(try await scene.values("weight") == ["2024-05-19": "81", "2024-05-20": "80.57"])
        #expect(try await scene.values("steps") == ["2024-05-20": "7200"])
        #expect(try await scene.values("mood_note") == ["2024-05-20": #""good""#])
    }

    @Test func `a switch turns range checks on`() async throws {
        let scene = try await ExistScene()
        let token = try await scene.token()
        try await scene.acquire(token, "mood", "sleep_end", "body_fat")
        let objects = """
            [{"name":"mood","date":"2024-05-20","value":10},{"name":"sleep_end","date":"2024-05-20","value":1440},
             {"name":"body_fat","date":"2024-05-20","value":22.1}]
            """
        #expect(try await scene.update(token, objects).status == 200)
        _ = try await scene.send("PUT", "/control/switches", json: #"{"range_check":"on"}"#)
        #expect(try await scene.update(token, objects).codes == ["validation", "validation", "validation"])
    }

    @Test func `only the owner writes an attribute`() async throws {
        let scene = try await ExistScene()
        let (token, other) = (try await scene.token(), try await scene.token(client: "other"))
        try await scene.acquire(token, "weight")
        try await scene.acquire(token, "weight")
        let object = #"[{"name":"weight","date":"2024-05-20","value":80}]"#
        #expect(try await scene.update(other, object).codes == ["unauthorised"])
        try await scene.acquire(other, "weight")
        let refused = try await scene.update(token, object)
        #expect(refused.codes == ["unauthorised"])
        #expect(refused.text.contains("Attribute 'weight' does not belong to this service"))
        #expect(
            try await scene.send("POST", "/api/2/attributes/release/", token: other, json: #"[{"name":"weight"}]"#)
                .status == 200)
        #expect(try await scene.update(token, object).status == 200, "released to the other that can provide it")
        _ = try await scene.send(
            "POST", "/control/steal", json: #"{"user":"mira","attribute":"weight","to":"withings"}"#)
        #expect(try await scene.update(token, object).codes == ["unauthorised"])
        let release = try await scene.send(
            "POST", "/api/2/attributes/release/", token: token, json: #"[{"name":"weight"},{}]"#)
        #expect(release.codes == ["unauthorised", "missing_field"])
        let list = try await scene.send("GET", "/api/2/attributes/?attributes=weight", token: token).json
        let weight = list?["results"]?.list?.first
        #expect(weight?["service"]?["name"]?.text == "withings")
        #expect(weight?["template"]?.text == "weight" && weight?["value_type"]?.integer == 1)
        #expect(try await scene.send("GET", "/api/2/attributes/owned/", token: token).json?["count"]?.integer == 0)
    }

    @Test func `a custom attribute is created once, with a name from its label`() async throws {
        let scene = try await ExistScene()
        let token = try await scene.token()
        let path = "/api/2/attributes/create/?success_objects=1"
        let systolic = #"{"label":"Systolic (mmHg)","group":"health","value_type":0,"manual":false}"#
        let made = try await scene.send("POST", path, token: token, json: "[\(systolic)]")
        #expect(made.status == 200, "\(made.text)")
        let object = made.json?["success"]?.list?.first
        #expect(object?["name"]?.text == "systolic_mmhg" && object?["template"] == .null)
        #expect(object?["manual"]?.truth == false && object?["service"]?["name"]?.text == "hub")
        let again = try await scene.send(
            "POST", path, token: token,
            json:
                #"[\#(systolic),{"label":"X","group":"health","value_type":6},{"label":"X","group":"none","value_type":0},{"label":"X"},{"label":"","group":"health","value_type":0}]"#
        )
        #expect(again.codes == ["exists", "validation", "validation", "missing_field", "validation"])
        #expect(
            try await scene.update(token, #"[{"name":"systolic_mmhg","date":"2024-05-20","value":121}]"#).status == 200)
    }

    @Test func `a log-in code works once, and a refresh ends both old tokens`() async throws {
        let scene = try await ExistScene(["token_life": "100"])
        let answer = try await scene.code()
        #expect(answer["state"] == "xyz")
        let members = "grant_type=authorization_code&redirect_uri=http://127.0.0.1:8737/&code=\(answer["code"] ?? "")"
        let first = try await scene.exchange(members)
        let access = try #require(first.json?["access_token"]?.text)
        let refresh = try #require(first.json?["refresh_token"]?.text)
        #expect(access.wholeMatch(of: /[0-9a-f]{40}/) != nil && first.json?["expires_in"]?.integer == 100)
        #expect(first.json?["scope"]?.text == "health_read health_write")
        #expect(try await scene.exchange(members).json?["error"]?.text == "invalid_grant")
        #expect(try await scene.send("GET", "/api/2/accounts/profile/", token: access).status == 200)
        scene.standIn.clock.move(seconds: 101)
        #expect(try await scene.send("GET", "/api/2/accounts/profile/", token: access).status == 401)
        let second = try await scene.exchange("grant_type=refresh_token&refresh_token=\(refresh)")
        let renewed = try #require(second.json?["access_token"]?.text)
        #expect(try await scene.send("GET", "/api/2/accounts/profile/", token: renewed).status == 200)
        #expect(try await scene.exchange("grant_type=refresh_token&refresh_token=\(refresh)").status == 400)
        let wrong = try await scene.send(
            "POST", "/oauth2/access_token", form: "grant_type=refresh_token&client_id=hub&client_secret=x")
        #expect(wrong.status == 401 && wrong.json?["error"]?.text == "invalid_client")
        _ = try await scene.send("POST", "/control/revoke", json: #"{"user":"mira"}"#)
        #expect(try await scene.send("GET", "/api/2/accounts/profile/", token: renewed).status == 401)
    }

    @Test func `a person may decline or choose; bad scopes and foreign redirects are refused`() async throws {
        let scene = try await ExistScene(["consent": "deny", "state": "dropped"])
        #expect(try await scene.code() == ["error": "access_denied"])
        #expect(try await scene.code(scope: "health_read%2Bhealth_write") == ["error": "invalid_scope"])
        let foreign = try await scene.send(
            "GET",
            "/oauth2/authorize?response_type=code&client_id=hub&redirect_uri=http://evil.example/&scope=health_read")
        #expect(foreign.status == 400 && foreign.fields["location"] == nil)
        _ = try await scene.send("PUT", "/control/switches", json: #"{"consent":"ask"}"#)
        let target =
            "/oauth2/authorize?response_type=code&client_id=hub&redirect_uri=http://127.0.0.1:8737/&scope=health_read"
        let page = try await scene.send("GET", target)
        #expect(page.text.contains("Allow, as tane") && page.text.contains("decision=tane"))
        let agreed = try await scene.send("GET", target + "&decision=tane")
        let code = try #require(agreed.fields["location"]?.split(separator: "code=").last)
        let pair = try await scene.exchange(
            "grant_type=authorization_code&redirect_uri=http://127.0.0.1:8737/&code=\(code)")
        let token = try #require(pair.json?["access_token"]?.text)
        #expect(try await scene.send("GET", "/api/2/accounts/profile/", token: token).json?["username"]?.text == "tane")
    }

    @Test func `a missing scope hides attributes from reads and refuses writes`() async throws {
        let scene = try await ExistScene()
        let everything = try await scene.token()
        try await scene.acquire(everything, "weight", "steps")
        let code = try await scene.code(scope: "activity_read+health_write")["code"] ?? ""
        let pair = try await scene.exchange(
            "grant_type=authorization_code&redirect_uri=http://127.0.0.1:8737/&code=\(code)")
        let token = try #require(pair.json?["access_token"]?.text)
        let list = try await scene.send("GET", "/api/2/attributes/", token: token).json
        #expect(list?["results"]?.list?.compactMap { $0["name"]?.text } == ["steps"])
        let objects =
            #"[{"name":"steps","date":"2024-05-20","value":1},{"name":"weight","date":"2024-05-20","value":1}]"#
        #expect(try await scene.update(token, objects).codes == ["unauthorised"])
        #expect(try await scene.values("weight").count == 1)
        _ = try await scene.send("PUT", "/control/switches", json: #"{"scope_denied":"http403"}"#)
        let later = #"[{"name":"weight","date":"2024-05-19","value":1},{"name":"steps","date":"2024-05-19","value":1}]"#
        #expect(try await scene.update(token, later).status == 403)
        #expect(try await scene.values("weight").count == 1, "refused as a whole")
    }

    @Test func `today depends on the user's zone, and a switch selects the rate window`() async throws {
        let scene = try await ExistScene(["rate_limit": "3", "retry_after": "7"], at: "2024-05-20T12:50:00Z")
        let tane = try await scene.token("tane")
        try await scene.acquire(tane, "weight")
        #expect(try await scene.update(tane, #"[{"name":"weight","date":"2024-05-21","value":80}]"#).status == 200)
        let profile = try await scene.send("GET", "/api/2/accounts/profile/", token: tane)
        #expect(profile.json?["local_time"]?.text == "2024-05-21T00:50:00.000000+12:00")
        let many = try await scene.send("GET", "/api/2/accounts/profile/", token: tane)
        #expect(many.status == 429 && many.fields["retry-after"] == "7" && many.body.isEmpty)
        scene.standIn.clock.move(seconds: 900)
        #expect(try await scene.send("GET", "/api/2/accounts/profile/", token: tane).status == 429)
        _ = try await scene.send("PUT", "/control/switches", json: #"{"rate_window":"clock_hour"}"#)
        #expect(try await scene.send("GET", "/api/2/accounts/profile/", token: tane).status == 200)
        _ = try await scene.send("PUT", "/control/switches", json: #"{"rate_window":"rolling60"}"#)
        scene.standIn.clock.move(seconds: 3_601)
        #expect(try await scene.send("GET", "/api/2/accounts/profile/", token: tane).status == 200)
    }

    @Test func `lists are paged, and a missing day is null or zero`() async throws {
        let scene = try await ExistScene()
        let token = try await scene.token()
        let templates = try await scene.send("GET", "/api/2/attributes/templates/?limit=50&page=2", token: token).json
        #expect(templates?["count"]?.integer == 86 && templates?["results"]?.list?.count == 36)
        #expect(templates?["next"] == .null)
        #expect(templates?["previous"]?.text == "https://exist.io/api/2/attributes/templates/?page=1")
        try await scene.acquire(token, "weight", "mood")
        _ = try await scene.update(
            token,
            #"[{"name":"weight","date":"2024-05-17","value":80.5},{"name":"weight","date":"2024-05-20","value":80}]"#)
        let values = try await scene.send("GET", "/api/2/attributes/values/?attribute=weight&limit=3", token: token)
            .json
        #expect(values?["count"]?.integer == 4 && values?["next"]?.text != nil)
        #expect(
            values?["results"]?.json
                == #"[{"date":"2024-05-20","value":80},{"date":"2024-05-19","value":null},{"date":"2024-05-18","value":null}]"#
        )
        _ = try await scene.send("PUT", "/control/switches", json: #"{"missing_value":"zero_for_quantities"}"#)
        let both = try await scene.send(
            "GET", "/api/2/attributes/with-values/?days=2&attributes=weight,mood", token: token
        ).json
        #expect(
            both?["results"]?.list?.compactMap { $0["values"]?.json } == [
                #"[{"date":"2024-05-20","value":null},{"date":"2024-05-19","value":null}]"#,
                #"[{"date":"2024-05-20","value":80},{"date":"2024-05-19","value":0}]"#,
            ])
        #expect(try await scene.send("GET", "/api/2/attributes/with-values/?days=32", token: token).status == 400)
    }

    @Test func `increments add up, unlike updates`() async throws {
        let scene = try await ExistScene()
        let token = try await scene.token()
        try await scene.acquire(token, "coffees", "mood", "money_spent")
        let path = "/api/2/attributes/increment/"
        for total in 1...3 {
            let answer = try await scene.send("POST", path, token: token, json: #"[{"name":"coffees","value":1}]"#)
            #expect(answer.json?["success"]?.list?.first?["current"]?.integer == total)
        }
        let mixed = try await scene.send(
            "POST", path, token: token,
            json: #"[{"name":"mood","value":1},{"name":"money_spent","value":2.5},{"name":"coffees","value":0.5}]"#)
        #expect(mixed.codes == ["validation", "validation"] && mixed.done == 1)
        #expect(try await scene.values("coffees") == ["2024-05-20": "3"])
    }

    @Test func `faults take effect, and the log contains each call`() async throws {
        let scene = try await ExistScene()
        let token = try await scene.token()
        try await scene.acquire(token, "weight")
        func date(_ day: Int) -> String { "2024-05-" + (day < 10 ? "0" : "") + "\(day)" }
        func object(_ day: Int) -> String { #"[{"name":"weight","date":"\#(date(day))","value":\#(day)}]"# }
        func plan(_ faults: String) async throws {
            let answer = try await scene.send("PUT", "/control/faults", json: "[\(faults)]")
            #expect(answer.status == 200, "\(answer.text)")
        }
        try await plan(#""cut-before@update*1""#)
        await #expect(throws: URLError.self) { try await scene.update(token, object(1)) }
        try await plan(#""cut-after@update*1""#)
        await #expect(throws: URLError.self) { try await scene.update(token, object(2)) }
        try await plan(#""cut-inside@update*1""#)
        await #expect(throws: URLError.self) { try await scene.update(token, object(3)) }
        try await plan(#""status=503@update*1","too-many=9@update*1","html@update*1","half@update*1""#)
        #expect(try await scene.update(token, object(4)).status == 503)
        let many = try await scene.update(token, object(5))
        #expect(many.status == 429 && many.fields["retry-after"] == "9")
        let page = try await scene.update(token, object(6))
        #expect(page.status == 502 && page.text.contains("<html>"))
        let half = try await scene.update(token, object(7))
        #expect(half.status == 200 && half.json == nil && half.body.count > 10)
        try await plan(#""no-failed*1""#)
        #expect(try await scene.update(token, object(8)).json?["failed"] == nil)
        try await plan(#""lost-object*1""#)
        #expect(try await scene.update(token, object(9)).done == 0)
        try await plan(#""title-for-name*1","delay=0.01*1""#)
        #expect(try await scene.update(token, object(10)).json?["success"]?.list?.first?["title"]?.text == "weight")
        #expect(try await scene.send("GET", "/control/faults").text == "[]")
        #expect(try await scene.values("weight").keys.sorted() == [2, 3, 7, 8, 9, 10].map(date))
        let calls = try #require(try await scene.send("GET", "/control/calls").json?.list)
        #expect(calls.count == 11)
        #expect(calls[1]["status"] == .null && calls[1]["fault"]?.text == "cut-before@update*1")
        #expect(calls[1]["user"]?.text == "mira" && calls[2]["status"]?.integer == 200)
        #expect(calls[2]["body"]?.json == object(2) && !calls.contains { $0.json.contains(token) })
    }

    @Test func `bad control requests get a reason, and foreign origins are refused`() async throws {
        let scene = try await ExistScene()
        #expect(try await scene.send("PUT", "/control/faults", json: #"["nonsense"]"#).text.contains("cut-before"))
        #expect(
            try await scene.send("PUT", "/control/switches", json: #"{"rate_limt":"1"}"#).text.contains("rate_limit"))
        #expect(try await scene.send("PUT", "/control/clock", json: #""yesterday""#).status == 400)
        #expect(
            try await scene.send("PUT", "/control/clock", json: #""2025-01-01T00:00:00Z@0""#).text.contains(
                "1735689600000000"))
        #expect(
            try await scene.send("POST", "/control/zone", json: #"{"user":"mira","zone":"Mars/Base"}"#).status == 400)
        #expect(try await scene.send("POST", "/control/nothing", json: "{}").status == 404)
        let foreign = ["Origin": "http://evil.example"]
        #expect(try await scene.send("DELETE", "/control/faults", fields: foreign).status == 403)
    }

    @Test func `the page shows the data, escapes it and loads nothing`() async throws {
        let scene = try await ExistScene()
        let token = try await scene.token()
        _ = try await scene.send(
            "POST", "/api/2/attributes/create/", token: token,
            json: #"[{"label":"<script>x","group":"health","value_type":2,"manual":false}]"#)
        try await scene.acquire(token, "weight")
        _ = try await scene.update(
            token,
            #"[{"name":"weight","date":"2024-05-19","value":80.5},{"name":"weight","date":"2024-05-20","value":80},{"name":"scriptx","date":"2024-05-20","value":"<b>"}]"#
        )
        let page = try await scene.send("GET", "/")
        #expect(page.text.contains("2024-05-19") && page.text.contains("80.5") && page.text.contains("owned by hub"))
        #expect(page.text.contains("&lt;script&gt;x") && !page.text.contains("<script") && !page.text.contains("<b>"))
        #expect(!page.text.contains("http://") && !page.text.contains("https://") && !page.text.contains(token))
        #expect(page.fields["content-security-policy"]?.contains("default-src 'none'") == true)
    }

    @Test func `answered requests survive a kill`() async throws {
        let folder = try TemporaryFolder()
        let arguments = [
            "--listen", "127.0.0.1:0", "--state", "\(folder.path)/state.db", "--clock", "2024-05-20T12:00:00Z@1",
        ]
        let browser = URLSession(configuration: .ephemeral)
        func ask(_ base: String, _ path: String, _ body: String? = nil, token: String? = nil) async throws -> JSONTree?
        {
            var request = URLRequest(url: try #require(URL(string: base + path)))
            request.httpBody = body.map { Data($0.utf8) }
            request.httpMethod = body == nil ? "GET" : "POST"
            if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
            return JSONTree(Array(try await browser.data(for: request).0))
        }
        let first = try ChildProcess("hub-exist-server", arguments)
        let base = try #require(await first.lines(count: 1).first)
        let token = try #require(
            try await ask(base, "/control/personal-token", #"{"user":"mira","client":"hub"}"#)?["access_token"]?.text)
        _ = try await ask(base, "/api/2/attributes/acquire/", #"[{"template":"weight"}]"#, token: token)
        _ = try await ask(
            base, "/api/2/attributes/update/", #"[{"name":"weight","date":"2024-05-20","value":80.57}]"#, token: token)
        await first.killAndWait()
        let second = try ChildProcess("hub-exist-server", arguments)
        let again = try #require(await second.lines(count: 1).first)
        let values = try await ask(again, "/api/2/attributes/values/?attribute=weight", token: token)
        #expect(values?["results"]?.json == #"[{"date":"2024-05-20","value":80.57}]"#)
        #expect(try await ask(again, "/control/calls")?.list?.count == 3)
        #expect(await second.stop() == 0)
        let wrong = try await ChildProcess("hub-exist-server", ["--set", "rate_limit=x"]).result()
        #expect(wrong.code == 64 && wrong.errors.contains("calls an hour"), "\(wrong)")
    }
}
