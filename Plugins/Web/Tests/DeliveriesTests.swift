import Foundation
import HubProcess
import Testing

@testable import Web

/// The state of deliveries, and the story of a record.
@Suite(.timeLimit(.minutes(3))) struct DeliveriesTests {
    /// A page with the needed rights, and a sink that writes files.
    private static func scene() async throws -> Scene {
        try await Scene(owner: ["status", "trace", "replay"]) { folder in
            """
            [plugin.json-lines]
            path = "\(folder)/lines"
            kinds = ["quantity", "retraction"]
            """
        }
    }

    @Test func `the figures equal the hub's, and the plan of a replay is shown before it is done`() async throws {
        let scene = try await Self.scene()
        for value in ["80.4kg", "80.6kg", "80.1kg"] {
            _ = try await scene.command("log", "weight", value, "--person", "me")
        }
        let name = try await Self.name(scene)
        _ = try await Self.waited(scene, name, delivered: 3)
        let owner = try await Browser(scene)
        let ledger = try await owner.get("/deliveries")
        #expect(ledger.status == 200)
        #expect(Scene.words(ledger.body).contains("\(name) well 3 3 0 0 0"), "\(Scene.words(ledger.body))")
        let query = FormValue.write(name)
        let page = try await owner.get("/deliveries/sink?name=\(query)")
        #expect(Scene.words(page.body).contains("Wanted 3 Delivered 3"), "\(Scene.words(page.body))")
        #expect(try await owner.get("/deliveries/sink?name=other").status == 404)

        let plan = try await owner.get("/deliveries/replay?sink=\(query)&from=2020-01-01&type=weight")
        #expect(Scene.words(plan.body).contains("3 records would be delivered again"), "\(Scene.words(plan.body))")
        // The plan changes nothing.
        #expect(try await scene.sink(name)?["delivered"] as? Int == 3)
        let none = try await owner.get("/deliveries/replay?sink=\(query)&from=2099-01-01")
        #expect(none.body.contains("nothing to deliver again"))
        for (fields, word) in [
            ("sink=\(query)&from=yesterday", "is not a day"), ("sink=\(query)&type=wieght", "no type wieght"),
            ("", "lacks sink"),
        ] {
            let answer = try await owner.get("/deliveries/replay?\(fields)")
            #expect(answer.status == 400 && answer.body.contains(word), "\(fields): \(Scene.words(answer.body))")
        }
        let unknown = try await owner.get("/deliveries/replay?sink=nothing")
        #expect(unknown.status == 422 && unknown.body.contains("has no sink"), "\(Scene.words(unknown.body))")

        let form = "sink=\(query)&from=2020-01-01&type=weight"
        #expect(try await scene.post("/deliveries/replay", form, cookie: owner.cookie).status == 403)
        #expect(try await scene.sink(name)?["wanted"] as? Int == 3)
        let done = try await owner.post("/deliveries/replay", "\(form)")
        #expect(done.status == 303 && done.fields["location"] == "/deliveries/sink?name=\(query)")
        let told = try await owner.get("/deliveries/sink?name=\(query)").body
        #expect(told.contains("3 records to be delivered again"))
        // Records that are delivered again count as wanted again.
        _ = try await Self.waited(scene, name, delivered: 6)
    }

    @Test func `a program can see the plan of a replay before it is done`() async throws {
        let scene = try await Self.scene()
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        let name = try await Self.name(scene)
        _ = try await Self.waited(scene, name, delivered: 1)
        let manage = try await scene.token("m", "manage")
        let order = "{\"to\":\"\(name)\",\"types\":[\"weight\"],\"from\":\"2020-01-01T00:00:00Z\"}"
        for query in ["?dryRun=true", ""] {
            #expect(try await scene.sink(name)?["wanted"] as? Int == 1)
            let answer = try await scene.send("/replay\(query)", order, manage)
            #expect(try Told(answer.body).list("sinks").first?["records"] as? Int == 1, "\(answer)")
        }
        _ = try await Self.waited(scene, name, delivered: 2)
        let nowhere = try await scene.send("/replay", #"{"to":"nothing"}"#, manage)
        #expect(nowhere.status == 422 && nowhere.body.contains("has no sink"), "\(nowhere)")
        let ben = try await scene.token("b", "write", person: "ben")
        #expect(try await scene.send("/replay", order, ben).status == 404)
        let bare = try await Scene(owner: ["status"])
        let denied = try await bare.send("/replay", order, try await bare.token("m", "manage"))
        #expect(try denied.status == 403 && Told(denied.body).text("code") == "forbidden", "\(denied)")
    }

    @Test func `the page of a record has the story of hub trace, and reveals nothing about other persons`()
        async throws
    {
        let scene = try await Self.scene()
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        _ = try await scene.command("log", "weight", "71.3kg", "--person", "ben")
        _ = try await scene.command("edit", "2", "71.8kg", "--reason", "said by me")
        let name = try await Self.name(scene)
        try await eventually { try await scene.sink(name)?["pending"] as? Int == 0 }
        let owner = try await Browser(scene)
        let ben = try await Browser(scene, "ben")
        let story = Scene.words(try await owner.get("/records/2").body)
        // Only the command shows names for programs.
        for line in try await scene.command("trace", "2")
        where !line.hasPrefix("type ") && !line.hasPrefix("published ") {
            for part in line.split(separator: "  ").map({ $0.trimmingCharacters(in: .whitespaces) }) where !part.isEmpty
            {
                // The page has different headings; everything else is the same.
                guard part != part.uppercased() || part.contains(where: \.isNumber) else { continue }
                guard !part.hasPrefix("topic"), !part.contains("message"), part != "by", part != "hand" else {
                    continue
                }
                #expect(story.lowercased().contains(part.lowercased()), "\(part) of \(line): \(story)")
            }
        }
        #expect(story.contains("said by me"))
        let own = try await ben.get("/records/2")
        #expect(own.status == 200 && own.body.contains("71.8 kg") && own.body.contains("71.3 kg"))
        // Free texts about a record may concern others.
        #expect(!own.body.contains("said by me") && own.body.contains("edited by hand"), "\(Scene.words(own.body))")
        _ = try await scene.command("retract", "2", "--yes", "--reason", "says anna")
        #expect(try await owner.get("/records/2").body.contains("says anna"))
        let gone = try await ben.get("/records/2").body
        #expect(gone.contains("Deleted") && !gone.contains("says anna") && !gone.contains("said by me"))
        // A program gets the same: a person's record without texts that others have written about it.
        let (all, program) = (try await scene.token("a"), try await scene.token("b", person: "ben"))
        let place = try #require(try Told(try await scene.api("/records?limit=1", all).body).text("cursor"))
        let beginning = "\(place.prefix { $0 != "-" })-0"
        for path in ["/records/2", "/records/2/trace", "/records?since=\(beginning)"] {
            let (full, cut) = (try await scene.api(path, all).body, try await scene.api(path, program).body)
            #expect(full.contains("says anna") && !cut.contains("says anna") && !cut.contains("said by me"), "\(cut)")
            #expect(cut.contains("\"by\":\"person\""), "\(cut)")
        }
        let cut = try Told(try await scene.api("/records/2/trace", program).body)
        #expect(cut.list("versions").count == 3 && cut.list("deliveries").first?["sink"] as? String == name)
        #expect(cut.list("deliveries").allSatisfy { $0["reason"] == nil && $0["confirmed"] == nil })
        _ = try await scene.command("retract", "2", "--undo")
        // The new person of another's former record sees only the own versions.
        _ = try await scene.command("assign", "1", "--to", "ben")
        let given = try await scene.api("/records/1/trace", program).body
        #expect(!given.contains("\"me\"") && !given.contains("ruling"), "\(given)")
        #expect(
            try Told(given).list("versions").compactMap { ($0["record"] as? [String: Any])?["person"] as? String } == [
                "ben"
            ])
        _ = try await scene.command("assign", "1", "--to", "me")
        // Positions of older pages must be the hub's, and of this record.
        for next in ["x", "0", "%3Cscript%3E"] {
            #expect(try await ben.get("/records/2?next=\(next)").status == 404, "\(next)")
        }
        let unknown = try await ben.get("/records/99")
        for path in ["/records/1", "/records/1?next=2", "/records/x", "/records/0", "/deliveries"] {
            let answer = try await ben.get(path)
            #expect(answer.status == 404 && answer.body == unknown.body, "\(path)")
        }
        for path in [
            "/deliveries/sink?name=json-lines", "/deliveries/replay?sink=json-lines", "/deliveries/record?number=2",
        ] { #expect(try await ben.get(path).body == unknown.body, "\(path)") }
        let post = try await ben.post("/deliveries/replay", "sink=json-lines")
        #expect(post.status == 404 && post.body == unknown.body)
        #expect(try await owner.get("/deliveries/record?number=2").fields["location"] == "/records/2")
        // Once given to another person, it is no longer ben's.
        _ = try await scene.command("assign", "2", "--to", "me")
        #expect(try await ben.get("/records/2").body == unknown.body)
    }

    // MARK: - The sink

    private static func name(_ scene: Scene) async throws -> String {
        var name: String?
        try await eventually {
            name = (try await scene.status()["sinks"] as? [[String: Any]])?.first?["name"] as? String
            return name != nil
        }
        return try #require(name)
    }

    private static func waited(_ scene: Scene, _ name: String, delivered: Int) async throws -> [String: Any] {
        var sink: [String: Any]?
        try await eventually {
            sink = try await scene.sink(name)
            return sink?["delivered"] as? Int == delivered
        }
        return try #require(sink)
    }
}

/// Encodes a value for an address.
enum FormValue {
    static func write(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(CharacterSet(charactersIn: "-._~")))
            ?? ""
    }
}
