import Foundation
import HTTPTypes
import HubProcess
import JSON
import Testing

@testable import Web

/// The API for programs with a token (`/api/v1`).
@Suite(.timeLimit(.minutes(3))) struct APITests {
    /// Addresses that only read, and those that write.
    private static let reading = API.routes.filter { $0.method == .get && $0.path != "/events" }.map {
        filled($0.path) + (["/statistics", "/trend"].contains($0.path) ? "?type=weight" : "")
    }
    private static let writing = API.routes.filter { $0.method != .get }.map { filled($0.path) }

    /// Fills a path with an existing number and names.
    private static func filled(_ path: String) -> String {
        path.replacing("{number}", with: "1").replacing("{name}", with: "web").replacing("{command}", with: "sessions")
            .replacing("{person}", with: "me")
    }

    @Test func `without a token, or with a wrong or revoked one, no address reveals anything`() async throws {
        let scene = try await Scene(owner: ["*"])
        let token = try await scene.token("a")
        #expect(try await scene.api("/records", token).status == 200)
        #expect(try await scene.command("web", "token", "list").count == 2)
        #expect(try await scene.command("web", "token", "revoke", "a") == ["a revoked"])
        for path in Self.reading + ["/events"] {
            let answer = try await scene.api(path, nil)
            #expect(answer.status == 401 && answer.fields["www-authenticate"] == "Bearer", "\(path)")
            #expect(answer.fields["content-type"] == "application/problem+json", "\(path)")
        }
        for path in Self.writing { #expect(try await scene.send(path, "{}", nil).status == 401, "\(path)") }
        for wrong in [token, "", "x", AccessKey().text, "\(token)a"] {
            #expect(try await scene.api("/records", wrong).status == 401)
        }
        for _ in 0..<5 { _ = try await scene.api("/records", AccessKey().text) }
        let answer = try await scene.api("/records", AccessKey().text)
        #expect(answer.status == 429 && answer.fields["retry-after"] == "60")
        // A valid token works even while others guess.
        #expect(try await scene.api("/records", try await scene.token("b")).status == 200)
    }

    @Test func `a token has the rights of its scope, and is shown once`() async throws {
        let scene = try await Scene(owner: ["*"])
        let (read, write) = (try await scene.token("r"), try await scene.token("w", "write"))
        let weight = #"{"type":"weight","value":80.4,"unit":"kg","person":"me"}"#
        #expect(try await scene.send("/log", weight, read).status == 403)
        #expect(try await scene.send("/log?dryRun=true", weight, write).status == 200)
        #expect(try Told(try await scene.api("/records", read).body).list("records").isEmpty)
        let logged = try await scene.send("/log", weight, write)
        #expect(logged.status == 200)
        #expect(try Told(logged.body).list("records").first?["outcome"] as? String == "stored")
        #expect(try await scene.send("/plugins/web/restart?dryRun=true", "", write).status == 403)
        let manage = try await scene.token("m", "manage")
        #expect(try await scene.send("/plugins/web/restart?dryRun=true", "", manage).status == 200)
        let list = try await scene.command("web", "token", "list", "--json").joined()
        for token in [read, write, manage] { #expect(!list.contains(token)) }
        // The scope manage excludes a person, and a name can be used only once.
        for words in [["x", "--scope", "manage", "--person", "ben"], ["x", "--person", "zoe"], ["r"], [" "]] {
            #expect(try await scene.status(of: ["web", "token", "new"] + words) == 1, "\(words)")
        }
    }

    @Test func `a viewer of one person sees no other at any address, as if there were none`() async throws {
        let scene = try await Scene(owner: ["*"])
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        _ = try await scene.command("log", "weight", "71.3kg", "--person", "ben")
        let ben = try await scene.token("b", "write", person: "ben")
        for path in Self.reading where path != "/types" && path != "/openapi.json" {
            let answer = try await scene.api(path, ben)
            #expect(!answer.body.contains("80.4") && !answer.body.contains("\"me\""), "\(path)")
        }
        for path in ["/records", "/latest", "/days", "/sources", "/records.csv", "/statistics", "/events"] {
            let type = path == "/statistics" ? "&type=weight" : ""
            let other = try await scene.api("\(path)?person=me\(type)", ben)
            let none = try await scene.api("\(path)?person=zoe\(type)", ben)
            #expect(other.status == 404 && other.body == none.body, "\(path)")
        }
        for path in ["/records/1", "/records/1/trace", "/status", "/plugins", "/inbox", "/deliveries", "/sessions"] {
            let answer = try await scene.api(path, ben)
            let none = try await scene.api("/records/99", ben)
            #expect(answer.status == 404 && answer.body == none.body, "\(path)")
        }
        #expect(try await scene.api("/records/2", ben).status == 200)
        _ = try await scene.command("assign", "2", "--to", "me")
        #expect(try await scene.api("/records/2", ben).body == scene.api("/records/99", ben).body)
        _ = try await scene.command("assign", "2", "--to", "ben")
        let other = try await scene.send("/edit", #"{"number":1,"value":70,"unit":"kg"}"#, ben)
        let none = try await scene.send("/edit", #"{"number":99,"value":70,"unit":"kg"}"#, ben)
        #expect(other.status == 404 && other.body == none.body)
        #expect(try await scene.send("/retract", #"{"numbers":[2,1]}"#, ben).status == 404)
        #expect(try await scene.send("/assign", #"{"numbers":[2],"to":"me"}"#, ben).status == 404)
        let entry = #"{"type":"weight","value":72,"unit":"kg","person":"me"}"#
        #expect(try await scene.send("/log", entry, ben).status == 404)
        // Without a person the entry is the viewer's own.
        let own = try await scene.send("/log", #"{"type":"weight","value":72,"unit":"kg"}"#, ben)
        #expect(try Told(own.body).list("records").first?["person"] as? String == "ben")
        #expect(try await scene.command("samples", "weight", "--person", "me").count == 2)
    }

    @Test func `the person that a device assumed is hidden from another person's token and stream`() async throws {
        let scene = try await Scene(owner: ["*"])
        let (all, ben) = (try await scene.token("a"), try await scene.token("b", person: "ben"))
        let follower = try scene.listen(["follow", "--count", "1"], tokens: [ben])
        _ = await follower.lines(count: 1) { $0.contains("\"ready\"") }
        let fat =
            #"{"type":"bodyFatPercentage","value":0.21,"unit":"%","start":"2026-03-15T06:30:00Z","key":"f","subject":{"name":"me"}}"#
        try await scene.publish([fat])
        _ = try await scene.command("assign", "1", "--to", "ben")
        #expect(await follower.result().code == 0)
        for path in ["/records/1", "/records", "/latest", "/records/1/trace", "/records.csv"] {
            let (full, own) = (try await scene.api(path, all).body, try await scene.api(path, ben).body)
            #expect(full.contains(/"me"/) && full.contains("profileOf"), "\(full)")
            #expect(!own.contains(/"me"/) && !own.contains("profileOf") && own.contains("0.21"), "\(own)")
        }
        #expect(follower.lines.allSatisfy { !$0.contains("\"me\"") }, "\(follower.lines)")
    }

    @Test func `a person's token cannot change another's records, by 1.0 for 1, by a group or by their key`()
        async throws
    {
        let scene = try await Scene(owner: ["*"])
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me", "--key", "mine")
        _ = try await scene.command("log", "weight", "71.3kg", "--person", "ben")
        _ = try await scene.command("log", "bloodPressure", "121/79", "--person", "ben")
        // A member of ben's group now belongs to another.
        _ = try await scene.command("assign", "4", "--to", "me", "--alone")
        let ben = try await scene.token("b", "write", person: "ben")
        let before = try await scene.command("samples", "--json", "--last", "50")
        #expect(before.count == 5)
        for query in ["", "?dryRun=true"] {
            for numbers in ["1.0", "1e0", "2,1.0", "2,1", "1,1", "99", "3", "5,3", "4"] {
                let answer = try await scene.send("/retract\(query)", "{\"numbers\":[\(numbers)]}", ben)
                #expect(answer.status == 404, "\(numbers): \(answer.body)")
            }
            let many = (1...1_001).map(String.init).joined(separator: ",")
            for numbers in ["\"1\"", "2,\"1\"", "1.5", "[1]", "true", many] {
                let answer = try await scene.send("/retract\(query)", "{\"numbers\":[\(numbers)]}", ben)
                #expect(answer.status == 400, "\(numbers): \(answer.body)")
                #expect(try Told(answer.body).text("member") == "numbers")
            }
            for body in [
                #"{"number":1.0,"value":70,"unit":"kg"}"#, #"{"number":1e0,"undo":true}"#,
                #"{"number":3,"values":[130,85],"unit":"mmHg"}"#,
                // A value of the wrong type reveals nothing either.
                #"{"number":1,"value":70,"unit":"m"}"#,
            ] { #expect(try await scene.send("/edit\(query)", body, ben).status == 404, "\(body)") }
            #expect(try await scene.send("/edit\(query)", #"{"number":"1","undo":true}"#, ben).status == 400)
            for value in ["70", "80.4"] {
                let body = "{\"type\":\"weight\",\"value\":\(value),\"unit\":\"kg\",\"key\":\"mine\"}"
                let answer = try await scene.send("/log\(query)", body, ben)
                #expect(answer.status == 422, "\(answer.body)")
                #expect(try Told(answer.body).text("member") == "key")
            }
        }
        #expect(try await scene.command("samples", "--json", "--last", "50") == before)
        // The token can change records that are all its person's, even as 2.0.
        #expect(try await scene.send("/retract", #"{"numbers":[2.0,5]}"#, ben).status == 200)
        #expect(try await scene.send("/retract", #"{"numbers":[2],"undo":true}"#, ben).status == 200)
        let key = #"{"type":"weight","value":70,"unit":"kg","key":"own","start":"2026-03-15T07:30:05+01:00"}"#
        for outcome in ["stored", "duplicate"] {
            let answer = try await scene.send("/log", key, ben)
            #expect(try Told(answer.body).list("records").first?["outcome"] as? String == outcome, "\(answer.body)")
        }
    }

    @Test func `answers equal those of the commands, with every digit`() async throws {
        let scene = try await Scene(owner: ["*"])
        let token = try await scene.token("a")
        let lines = [
            #"{"type":"weight","value":80.123456789,"unit":"kg","start":"2026-03-15T07:30:05.25+01:00","key":"a"}"#,
            #"{"type":"weight","value":176.5,"unit":"lb","start":"2026-03-16T07:30:05+01:00","key":"b","metadata":{"note":"=1+1, \"x\""}}"#,
            #"{"type":"stepCount","value":5000,"unit":"count","start":"2026-03-16T07:30:05Z","end":"2026-03-16T08:30:05Z","key":"c"}"#,
            #"{"type":"stepCount","value":12345678901,"unit":"count","start":"2026-03-17T07:30:05Z","end":"2026-03-17T08:30:05Z","key":"d"}"#,
        ]
        try await scene.publish(lines)
        _ = try await scene.command("assign", "1", "2", "3", "4", "--to", "me")
        let records = try await scene.api("/records?order=time", token).body
        let printed = try await scene.command("samples", "--json")
        #expect(!printed.isEmpty && records.contains("[" + printed.joined(separator: ",") + "]"), "\(records)")
        #expect(records.contains("80.123456789") && records.contains("12345678901"))
        #expect(try await scene.api("/records/1", token).body == printed.first { $0.contains("\"number\":1,") })
        let steps = "/statistics?type=steps&person=me&interval=day&from=2026-03-16T00:00:00Z"
        #expect(
            try await scene.api(steps, token).body
                == scene.command(
                    "stats", "stepCount", "--person", "me", "--by", "day", "--from", "2026-03-16T00:00:00Z", "--json"
                ).joined())
        let csv = try await scene.api("/records.csv?person=me", token)
        #expect(csv.fields["content-type"]?.hasPrefix("text/csv") == true)
        #expect(
            csv.body.split(separator: "\n").map(String.init)
                == (try await scene.command("export", "--format", "csv", "--person", "me")))
        let trace = try await scene.command("trace", "1", "--json").joined()
        #expect(try await scene.api("/records/1/trace", token).body == trace)
        let latest = try Told(try await scene.api("/latest?person=me", token).body).list("records")
        #expect(Set(latest.compactMap { $0["number"] as? Int }) == [2, 4])
        #expect(try Told(try await scene.api("/records?limit=1&order=-time", token).body).list("records").count == 1)
        let plugins = try await scene.command("plugins", "--json").joined(separator: ",")
        #expect(
            try await scene.api("/plugins", token).body.hasSuffix(
                ":\(plugins.hasPrefix("[") ? plugins : "[\(plugins)]")}"))
    }

    @Test func `entries, edits, deletions and assignments of a program are visible everywhere`() async throws {
        let scene = try await Scene(owner: ["*"])
        let token = try await scene.token("m", "manage")
        func outcome(_ path: String, _ body: String) async throws -> String? {
            let answer = try await scene.send(path, body, token)
            return answer.status == 200
                ? try Told(answer.body).list("records").first?["outcome"] as? String : "\(answer.status)"
        }
        let entry =
            #"{"type":"weight","value":80.25,"unit":"kg","person":"me","key":"k","start":"2026-03-15T07:30:05+01:00"}"#
        #expect(try await outcome("/log", entry) == "stored")
        #expect(try await outcome("/log", entry) == "duplicate")
        #expect(try await outcome("/edit", #"{"number":1,"value":81,"unit":"kg"}"#) == "stored")
        #expect(try await scene.api("/records/1", token).body.contains("\"value\":81,"))
        #expect(try await outcome("/edit", #"{"number":1,"undo":true}"#) == "stored")
        #expect(try await outcome("/retract", #"{"numbers":[1]}"#) == "stored")
        #expect(try Told(try await scene.api("/records", token).body).list("records").isEmpty)
        #expect(try await outcome("/retract", #"{"numbers":[1],"undo":true}"#) == "stored")
        #expect(try await outcome("/assign", #"{"numbers":[1],"nobody":true}"#) == "stored")
        #expect(try Told(try await scene.api("/inbox", token).body).list("unassigned").count == 1)
        #expect(try await outcome("/assign", #"{"numbers":[1],"to":"ben"}"#) == "stored")
        #expect(try await scene.command("samples", "weight", "--person", "ben").last?.contains("80.3") == true)
        // The hub's refusal is returned with its reason.
        for body in [#"{"type":"weight"}"#, #"{"type":"weight","value":80,"unit":"m","person":"me"}"#] {
            let answer = try await scene.send("/log", body, token)
            let problem = try Told(answer.body)
            #expect(
                answer.status == 422 && problem.text("detail") != nil && problem.text("code") != nil, "\(answer.body)")
        }
    }

    @Test func `a program gets the days, the rate and the goal's date that Today shows`() async throws {
        let scene = try await Scene(owner: ["*"], settings: "goals = [\"me=75kg\"]")
        try await ReadingTests.fill(scene, ReadingTests.weighings([600: 70, 100: 82, 20: 78, 10: 77, 1: 76]))
        let token = try await scene.token("r")
        let told = try Told(try await scene.api("/trend?type=weight&person=me", token).body)
        let days = told.list("days")
        #expect(days.compactMap { $0["value"] as? Double } == [78, 77, 76] && days.allSatisfy { $0["trend"] != nil })
        #expect(told.text("unit") == "kg" && (told["latest"] as? [String: Any])?["value"] as? Double == 76)
        let goal = try #require(told["goal"] as? [String: Any], "\(told.object)")
        let date = try #require(goal["date"] as? String)
        #expect(goal["state"] as? String == "reachedOn" && goal["value"] as? Double == 75)
        #expect(try await scene.get("/", cookie: try await scene.logIn()).body.contains("it is reached on \(date)"))
        // An early first day still gives the newest days, and the same forecast.
        let old = try Told(try await scene.api("/trend?type=weight&person=me&from=1990-01-01", token).body)
        #expect(old.list("days").compactMap { $0["value"] as? Double } == [70, 82, 78, 77, 76])
        #expect((old["goal"] as? [String: Any])?["date"] as? String == date)
        let all = try Told(try await scene.api("/trend?type=weight&person=me&from=2020-01-01", token).body)
        #expect(all.list("days").count == 5)
        #expect(try Told(try await scene.api("/trend?type=weight&person=ben", token).body)["goal"] == nil)
        let words = try await scene.api("/trend?type=sleepAnalysis&person=me", token)
        #expect(try words.status == 422 && Told(words.body).text("member") == "type")
        #expect(
            try await scene.api("/trend?type=weight&person=me", try await scene.token("b", person: "ben")).status == 404
        )
    }

    @Test func `a program that names an older version of a record changes nothing`() async throws {
        let scene = try await Scene(owner: ["*"])
        try await ReadingTests.fill(scene, ReadingTests.weighings([1: 80.4]))
        let (token, record) = (
            try await scene.token("w", "write"), { try Told(try await scene.api("/records/1", $0).body) }
        )
        let first = try #require(try await record(token).number("seq"))
        let edit = { (value: String, version: Int) in
            try await scene.send("/edit?version=\(version)", #"{"number":1,"value":\#(value),"unit":"kg"}"#, token)
        }
        #expect(try await edit("81", first).status == 200)
        let late = try await edit("82", first)
        #expect(try late.status == 409 && Told(late.body).text("member") == "version")
        #expect(try await record(token)["value"] as? Double == 81)
        let now = try #require(try await record(token).number("seq"))
        #expect(try await scene.send("/retract?version=\(first)", #"{"numbers":[1]}"#, token).status == 409)
        #expect(try await scene.send("/retract?version=\(now)", #"{"numbers":[1,2]}"#, token).status == 409)
        #expect(
            try await scene.send("/retract?version=\(now)", #"{"numbers":[1],"seqs":[\#(now)]}"#, token).status == 409)
        let manage = try await scene.token("m", "manage")
        for version in [first, now] {
            let answer = try await scene.send("/assign?version=\(version)", #"{"numbers":[1],"to":"me"}"#, manage)
            #expect(answer.status == (version == now ? 200 : 409))
        }
        let last = try #require(try await record(token).number("seq"))
        #expect(try await scene.send("/retract?version=\(last)", #"{"numbers":[1]}"#, token).status == 200)
    }

    @Test func `only one of several programs that change the same version at the same moment succeeds`() async throws {
        let scene = try await Scene(owner: ["*"])
        try await ReadingTests.fill(scene, ReadingTests.weighings([1: 80.4]))
        let token = try await scene.token("w", "write")
        let version = try #require(try Told(try await scene.api("/records/1", token).body).number("seq"))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for value in 81...88 {
                group.addTask {
                    let body = #"{"number":1,"value":\#(value),"unit":"kg"}"#
                    return try await scene.send("/edit?version=\(version)", body, token).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [200] + Array(repeating: 409, count: 7))
    }

    @Test func `if tokens of two persons enter one key at the same moment, one has the entry and the other is refused`()
        async throws
    {
        let scene = try await Scene(owner: ["*"])
        let tokens = [
            ("me", try await scene.token("m", "write", person: "me")),
            ("ben", try await scene.token("b", "write", person: "ben")),
        ]
        for round in 1...20 {
            let key = "2026-03-15T06:30:05Z \(round)"
            let answers = try await withThrowingTaskGroup(of: (String, Int).self) { group in
                for (person, token) in tokens {
                    let body =
                        #"{"type":"weight","value":80,"unit":"kg","start":"2026-03-15T07:30:05+01:00","key":"\#(key)"}"#
                    group.addTask { (person, try await scene.send("/log", body, token).status) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.map { $0.1 }.sorted() == [200, 422])
            let (owner, token) = try #require(tokens.first { name, _ in answers.contains { $0 == (name, 200) } })
            let own = try Told(try await scene.api("/records?type=weight", token).body).list("records")
            #expect(own.contains { $0["key"] as? String == key && $0["person"] as? String == owner })
        }
    }

    @Test func `a program sets units of its person, and enables a plugin after a dry run`() async throws {
        let scene = try await Scene(owner: ["*"]) { folder in
            "[plugin.json-lines]\npath = \"\(folder)/lines\"\nenabled = false\n"
        }
        let (ben, manage) = (try await scene.token("b", "write", person: "ben"), try await scene.token("m", "manage"))
        let pounds = #"{"person":"ben","units":{"weight":"lb"}}"#
        #expect(try await scene.send("/preferences?dryRun=true", #"{"weight":"lb"}"#, ben).body == pounds)
        #expect(try await scene.api("/preferences", ben).body == #"{"person":"ben","units":{}}"#)
        #expect(try await scene.send("/preferences", #"{"weight":"lb"}"#, ben).body == pounds)
        #expect(try await scene.api("/preferences?person=ben", manage).body == pounds)
        for (query, body, status) in [
            ("", #"{"weight":"parsec"}"#, 400), ("", #"{"weight":5}"#, 400), ("", #"{"wieght":"kg"}"#, 400),
            ("?person=me", #"{"weight":"lb"}"#, 404),
        ] { #expect(try await scene.send("/preferences\(query)", body, ben).status == status, "\(body)") }
        #expect(try await scene.send("/preferences", "{}", manage).status == 422)
        #expect(try await scene.send("/preferences", #"{"weight":""}"#, ben).body == #"{"person":"ben","units":{}}"#)

        let (path, before) = ("/plugins/json-lines/configure", try scene.configuration)
        let planned = try Told(try await scene.send("\(path)?dryRun=true", #"{"enabled":true}"#, manage).body)
        #expect(planned["applied"] as? Bool == true && planned.list("changes").count == 1)
        #expect(try scene.configuration == before)
        let revision = try #require(planned.text("revision"))
        let done = try await scene.send(path, #"{"enabled":true,"revision":"\#(revision)"}"#, manage)
        #expect(try Told(done.body)["applied"] as? Bool == true, "\(done.body)")
        #expect(try scene.configuration.contains("enabled = true"))
        #expect(try await scene.send(path, "{}", manage).status == 422)
        #expect(try await scene.send("/plugins/other/configure", #"{"enabled":true}"#, manage).status == 404)
        #expect(try await scene.send(path, #"{"enabled":false}"#, ben).status == 404)
    }

    @Test func `a program can run commands of a plugin, but not those of the page itself`() async throws {
        let scene = try await Scene(owner: ["*"]) { _ in "[plugin.gap-filler]\n" }
        let (manage, ben) = (try await scene.token("m", "manage"), try await scene.token("b", "write", person: "ben"))
        var report = Scene.Answer(status: 409)
        // The plugin may still be starting.
        try await eventually {
            report = try await scene.send("/plugins/gap-filler/do/report", "{}", manage)
            return report.status != 409
        }
        #expect(report.status == 200 && JSONTree(Array(report.body.utf8)) != nil, "\(report)")
        #expect(try await scene.send("/plugins/gap-filler/do/recompute?dryRun=true", "{}", manage).status == 200)
        for (path, body, member, status) in [
            ("/plugins/gap-filler/do/report?dryRun=true", "{}", nil, 422),
            ("/plugins/gap-filler/do/reprot", "{}", nil, 422),
            ("/plugins/gap-filler/do/report", #"{"days":7}"#, "days", 422),
            ("/plugins/gap-filler/do/Report", "{}", "command", 400), ("/plugins/nothing/do/report", "{}", nil, 404),
            ("/plugins/web/do/token-new", #"{"name":"x","scope":"manage"}"#, "name", 403),
        ] as [(String, String, String?, Int)] {
            let answer = try await scene.send(path, body, manage)
            #expect(answer.status == status, "\(path) \(answer)")
            if let member { #expect(try Told(answer.body).text("member") == member, "\(path) \(answer)") }
        }
        let tokens = try await scene.command("web", "token", "list", "--json").joined()
        #expect(tokens.contains("\"m\"") && !tokens.contains("\"x\""), "\(tokens)")
        #expect(try await scene.send("/plugins/gap-filler/do/report", "{}", ben).status == 404)
        let bare = try await Scene(owner: ["status"]) { _ in "[plugin.gap-filler]\n" }
        let denied = try await bare.send("/plugins/gap-filler/do/report", "{}", try await bare.token("m", "manage"))
        #expect(try denied.status == 403 && Told(denied.body).text("code") == "forbidden", "\(denied)")
    }

    @Test func `an invalid request is refused with the name of its parameter`() async throws {
        let scene = try await Scene(owner: ["*"])
        let token = try await scene.token("m", "manage")
        for (path, member, status) in [
            ("/records?limit=0", "limit", 400), ("/records?limit=1001", "limit", 400),
            ("/records?limit=1&limit=2", "limit", 400),
            ("/records?from=yesterday", "from", 400), ("/records?form=x", "form", 400),
            ("/records?type=wieght", "type", 404), ("/records?person=zoe", "person", 404),
            ("/records?order=up", "order", 400), ("/records?since=1", "since", 400),
            ("/records?from=2026-03-02T00:00:00Z&to=2026-03-01T00:00:00Z", "from", 409),
            ("/statistics", "type", 400), ("/statistics?type=weight", "person", 422),
            ("/statistics?type=weight&person=me&figure=sum", "figures", 422), ("/days?from=2026-02-30", "from", 422),
        ] {
            let answer = try await scene.api(path, token)
            let problem = try Told(answer.body)
            #expect(answer.status == status && problem.number("status") == status, "\(path) \(answer.body)")
            #expect(problem.text("member")?.hasPrefix(member) == true, "\(path) \(answer.body)")
            #expect(answer.fields["content-type"] == "application/problem+json")
        }
        #expect(try await scene.api("/records?since=aaaaaaaa-1", token).status == 410)
        #expect(try await scene.send("/log", "[1]", token).status == 400)
        #expect(try await scene.send("/log", "{", token).status == 400)
        #expect(try await scene.send("/log", #"{"type":{"a":1}}"#, token).status == 400)
        let huge = #"{"type":""# + String(repeating: "x", count: 100_000) + "\"}"
        #expect(try await scene.send("/log", huge, token).status == 413)
        let form = try await scene.post("/api/v1/log", "type=weight", fields: ["Authorization: Bearer \(token)"])
        #expect(form.status == 415)
        let wrong = try await scene.send("/records", "{}", token)
        #expect(wrong.status == 405 && wrong.fields["allow"] == "GET, HEAD")
        #expect(try await scene.api("/nothing", token).status == 404)
    }

    @Test func `a logged-in browser reads with its cookie, and writes only with its form token`() async throws {
        let scene = try await Scene(owner: ["*"])
        let cookie = try await scene.logIn()
        #expect(try await scene.get("/api/v1/records", cookie: cookie).status == 200)
        let token = "X-Form-Token: \(Scene.formToken)"
        let (entry, json) = (
            #"{"type":"weight","value":80,"unit":"kg","person":"me"}"#, "Content-Type: application/json"
        )
        for fields in [
            [], ["X-Form-Token: x"], [token, "Origin: http://evil.example"], [token, "Sec-Fetch-Site: cross-site"],
        ] {
            let answer = try await scene.post("/api/v1/log", entry, cookie: cookie, fields: fields + [json])
            #expect(answer.status == 403, "\(fields)")
        }
        let answer = try await scene.post("/api/v1/log", entry, cookie: cookie, fields: [token, json])
        #expect(answer.status == 200)
        #expect(try await scene.command("samples", "weight").count == 2)
    }
}
