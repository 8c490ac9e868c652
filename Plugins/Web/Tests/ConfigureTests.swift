import Foundation
import Testing

/// Changes of hub.conf by a program (`/api/v1/…/configure`), like those of the page Set up.
@Suite(.timeLimit(.minutes(3))) struct ConfigureTests {
    private static let third = "# hers\n[person.clara]  # third\n"

    private static func assignments(_ settings: (String, String)..., more: String = "") -> String {
        let texts = settings.map { #""\#($0.0)=\#($0.1.replacing("\"", with: "\\\""))""# }
        return #"{"set":[\#(texts.joined(separator: ","))]\#(more)}"#
    }

    @Test func `a program configures persons and the household, and gets the outcome although its session ends`()
        async throws
    {
        let scene = try await Scene(persons: Self.third)
        let (manage, before) = (try await scene.token("m", "manage"), try scene.configuration)
        for (section, body, old, new) in [
            (
                "/persons/me", Self.assignments(("zone", #""Asia/Tokyo""#), ("unit", #""lb""#)),
                "zone = \"Europe/Berlin\"\n", "zone = \"Asia/Tokyo\"\nunit = \"lb\"\n"
            ),
            (
                "/persons/clara", Self.assignments(("expected_weight", "61.5"), ("locale", #""de_DE""#)), "# third\n",
                "# third\nexpected_weight = 61.5\nlocale = \"de_DE\"\n"
            ),
            ("/hub", Self.assignments(("zone", #""Asia/Tokyo""#)), "/run\"\n", "/run\"\nzone = \"Asia/Tokyo\"\n"),
        ] {
            let path = "\(section)/configure"
            let planned = try Told(try await scene.send("\(path)?dryRun=true", body, manage).body)
            #expect(planned["applied"] as? Bool == true && planned["dryRun"] as? Bool == true)
            #expect(try scene.configuration == before)
            let answer = try await scene.send(path, body, manage)
            let done = try Told(answer.body)
            #expect(answer.status == 200 && done["applied"] as? Bool == true, "\(answer)")
            #expect(done["dryRun"] as? Bool == false && done["added"] == nil, "\(answer)")
            #expect(try scene.configuration == before.replacing(old, with: new))
            let settings = try #require(done["settings"] as? [String: Any])
            // The former values undo the change while hub.conf has the revision of this answer.
            var (set, unset): ([String], [String]) = ([], [])
            for change in done.list("changes") {
                let name = try #require(change["name"] as? String)
                #expect("\(settings[name] ?? "")" == "\(change["after"] ?? "")", "\(answer)")
                if let former = change["before"] as? String {
                    set.append("\(name)=\"\(former)\"")
                } else {
                    unset.append(name)
                }
            }
            let revision = try #require(done.text("revision"))
            let back = try JSONSerialization.data(withJSONObject: ["set": set, "unset": unset, "revision": revision])
            let undo = String(decoding: back, as: UTF8.self)
            let undone = try await scene.send(path, undo, manage)
            #expect(undone.status == 200, "\(undone)")
            #expect(try scene.configuration == before)
            let late = try await scene.send(path, undo, manage)
            #expect(try late.status == 422 && Told(late.body).text("code") == "changed", "\(late)")
        }
        let asked = try await scene.send("/persons/me/configure?dryRun=true", "{}", manage)
        #expect(try (Told(asked.body)["settings"] as? [String: String])?["zone"] == "Europe/Berlin", "\(asked)")
        #expect(try scene.configuration == before)
    }

    @Test func `after adding a person the answer comes before the page restarts, and then the person exists`()
        async throws
    {
        let scene = try await Scene(persons: Self.third)
        let (manage, before) = (try await scene.token("m", "manage"), try scene.configuration)
        let body = Self.assignments(("unit", #""kg""#))
        for query in ["?dryRun=true", ""] {
            #expect(try scene.configuration == before)
            let answer = try await scene.send("/persons/anna/configure\(query)", body, manage)
            let told = try Told(answer.body)
            #expect(answer.status == 200 && told["applied"] as? Bool == true, "\(answer)")
            #expect(told["added"] as? Bool == true && told["dryRun"] as? Bool == true, "\(answer)")
            let steps = (told["plan"] as? [String: Any])?["instances"] as? [[String: Any]]
            let own = steps?.first { $0["instance"] as? String == "web" }
            #expect(own?["action"] as? String == "restart", "\(answer)")
        }
        var persons: [[String: Any]] = []
        while persons.count < 4 {
            let answer = try await scene.api("/persons", manage)
            persons = answer.status == 200 ? try Told(answer.body).list("persons") : []
        }
        #expect(persons.contains { $0["name"] as? String == "anna" })
        #expect(
            try scene.configuration
                == before.replacing(Self.third, with: Self.third + "\n[person.anna]\nunit = \"kg\"\n"))
    }

    @Test func `a changed person in hub.conf is applied, and the page and a program get the outcome`() async throws {
        let scene = try await Scene()
        let (manage, owner) = (try await scene.token("m", "manage"), try await Browser(scene))
        for zone in ["Asia/Tokyo", "Europe/Rome"] {
            try scene.edit { $0.replacing(#/Europe\/Berlin|Asia\/Tokyo/#, with: zone) }
            let answer = try await scene.send("/apply", "{}", manage)
            let told = try Told(answer.body)
            #expect(answer.status == 200 && told["applied"] as? Bool == true, "\(answer)")
            #expect(told["dryRun"] as? Bool == false && told["persons"] as? [String] == ["me"], "\(answer)")
        }
        try scene.edit { $0.replacing("Europe/Rome", with: "Asia/Tokyo") }
        let form = try #require(Browser.forms(try await owner.get("/apply").body, to: "/apply").first)
        let done = try await owner.press(form)
        #expect(done.body.contains("The hub follows hub.conf."), "\(Scene.words(done.body))")
    }

    @Test func `without the right, by token, form or hub.conf, nothing is changed or revealed`() async throws {
        let scene = try await Scene(owner: ["*"])
        let before = try scene.configuration
        let (write, ben) = (try await scene.token("w", "write"), try await scene.token("b", "write", person: "ben"))
        let (owner, body) = (try await scene.logIn(), Self.assignments(("zone", #""UTC""#)))
        let none = try await scene.api("/nothing", ben)
        for section in ["/persons/ben", "/persons/me", "/persons/zoe", "/hub"] {
            for query in ["", "?dryRun=true"] {
                let path = "\(section)/configure\(query)"
                #expect(try await scene.send(path, body, nil).status == 401, "\(path)")
                #expect(try await scene.send(path, body, write).status == 403, "\(path)")
                let other = try await scene.send(path, body, ben)
                #expect(other.status == 404 && other.body == none.body, "\(path)")
                let formless = try await scene.post(
                    "/api/v1\(path)", body, cookie: owner, fields: ["Content-Type: application/json"])
                #expect(formless.status == 403, "\(path)")
            }
        }
        #expect(try scene.configuration == before)

        // Without the grant, and if the page has only some persons.
        for other in [try await Scene(owner: ["status"]), try await Scene(settings: "persons = [\"me\", \"ben\"]")] {
            let (manage, before) = (try await other.token("m", "manage"), try other.configuration)
            for section in ["/persons/ben", "/persons/zoe", "/hub"] {
                for query in ["", "?dryRun=true"] {
                    let answer = try await other.send("\(section)/configure\(query)", body, manage)
                    #expect(try answer.status == 403 && Told(answer.body).text("code") == "forbidden", "\(answer)")
                }
            }
            #expect(try other.configuration == before)
        }
    }

    @Test func `invalid settings are refused by name, and nothing is written`() async throws {
        let scene = try await Scene(persons: Self.third)
        let (manage, before) = (try await scene.token("m", "manage"), try scene.configuration)
        for (section, body, member, status) in [
            ("/persons/ben", #"{"colour":"red"}"#, "colour", 422), ("/persons/ben", #"{"person":"me"}"#, "person", 400),
            ("/persons/ben", #"{"hub":true}"#, "hub", 400), ("/hub", #"{"instance":"web"}"#, "instance", 400),
            ("/plugins/web", #"{"instance":"other","enabled":false}"#, "instance", 400),
            ("/persons/ben", #"{"enabled":true}"#, "enabled", 422), ("/persons/ben", #"{"set":["zone"]}"#, "set", 422),
            ("/persons/ben", #"{"set":{"zone":"UTC"}}"#, "set", 400),
            ("/persons/ben", #"{"set":["zone=UTC"]}"#, "set", 422),
            ("/persons/ben", Self.assignments(("height", "180")), "height", 422),
            ("/persons/ben", #"{"unset":["zone","zone"]}"#, "zone", 422),
            ("/hub", Self.assignments(("data", #""/tmp""#)), "data", 422),
            ("/persons/ben", Self.assignments(("zone", #""${file:/etc/passwd}""#)), "zone", 403),
            ("/persons/a%2F..%2Fb", "{}", "person", 400),
            ("/persons/..%2F..%2Fhub", "{}", "person", 400), ("/persons/%20", "{}", "person", 400),
            ("/persons/a%0A", "{}", "person", 400), ("/persons/-a", "{}", "person", 400),
            ("/persons/\(String(repeating: "a", count: 65))", "{}", "person", 400),
        ] {
            for query in ["?dryRun=true", ""] {
                let answer = try await scene.send("\(section)/configure\(query)", body, manage)
                let problem = try Told(answer.body)
                #expect(answer.status == status && problem.text("member") == member, "\(section) \(body) \(answer)")
                #expect(answer.fields["content-type"] == "application/problem+json", "\(section) \(body)")
            }
        }
        // An empty name is not an address.
        #expect(try await scene.send("/persons//configure", "{}", manage).status == 404)
        let huge = Self.assignments(("zone", "\"" + String(repeating: "x", count: 1_048_576) + "\""))
        #expect(try await scene.send("/persons/ben/configure", huge, manage).status == 413)

        // Values that the rules of hub.conf forbid get the same message as in hub configure.
        for (section, name, value) in [
            ("/persons/ben", "zone", #""Mars/Base""#), ("/persons/ben", "unit", #""stone""#),
            ("/persons/ben", "locale", #""deutsch""#), ("/persons/ben", "expected_weight", "0.5"),
            ("/persons/anna", "zone", "1"), ("/hub", "zone", #""Mars/Base""#),
        ] {
            for query in ["?dryRun=true", ""] {
                let answer = try await scene.send(
                    "\(section)/configure\(query)", Self.assignments((name, value)), manage)
                let told = try Told(answer.body)
                #expect(answer.status == 200 && told["applied"] as? Bool == false, "\(answer)")
                let problems = (told["plan"] as? [String: Any])?["problems"] as? [[String: Any]] ?? []
                #expect(problems.contains { $0["key"] as? String == name }, "\(answer)")
            }
        }
        #expect(try scene.configuration == before)
    }
}
