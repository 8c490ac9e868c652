import Foundation
import HealthText
import HubProcess
import Testing

@testable import Web

/// Records without a person, and values that look wrong.
@Suite(.timeLimit(.minutes(5))) struct InboxTests {
    /// A weigh-in of a scale that does not identify persons.
    private func weighIn(_ scene: Scene, _ weight: Double, key: String, at time: String) async throws {
        let source = #""source":{"device":"hall"}"#
        let lines = [
            #"{"type":"weight","value":\#(weight),"unit":"kg","start":"\#(time)","key":"\#(key)","group":"\#(key)",\#(source)}"#,
            #"{"type":"bodyFatPercentage","value":0.2,"unit":"%","start":"\#(time)","key":"\#(key)f","group":"\#(key)",\#(source)}"#,
        ]
        try await scene.publish(lines)
    }

    private func persons(_ scene: Scene) async throws -> [String] {
        try await scene.command("samples", "--json", "--last", "20").compactMap { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            guard ["weight", "bodyFatPercentage"].contains(object?["type"] as? String) else { return nil }
            return object?["person"] as? String ?? "-"
        }
    }

    @Test func `one press assigns a weigh-in with its group, likeliest person first, and can be undone`() async throws {
        let scene = try await Scene(owner: ["*"], persons: "[person.anna]")
        for (person, weight) in [("me", "85kg"), ("ben", "71kg"), ("anna", "70kg")] {
            _ = try await scene.command("log", "weight", weight, "--person", person, "--at", "2024-03-14 07:30")
        }
        try await weighIn(scene, 70.2, key: "a", at: "2024-03-15T07:30:05+01:00")
        let browser = try await Browser(scene)
        let page = try await browser.get("/inbox")
        let waiting = try await scene.command("inbox", "--json")
        let line = try #require(waiting.first)
        let told = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let why = try #require(told["why"] as? String)
        let odds = WeightOddsText(why)
        // The odds are shown beside the weight.
        let shown = try #require(odds.text { $0 })
        #expect(page.body.contains(shown) && !page.body.contains(why), "\(why): \(page.body)")
        #expect(page.body.contains("70.2 kg"))
        let form = try page.form(to: "/inbox/assign")
        let named = odds.shares.keys.filter { $0 != "somebody else" }
        #expect(Set(named).isSubset(of: ["anna", "ben", "me"]) && named.count > 1, "\(why)")
        for name in named {
            let share = odds.shares[name] ?? ""
            #expect(page.body.contains("value=\"\(name)\">\(name) \(share)</button>"), "\(name) \(share)")
        }
        // The likeliest person first; those without odds last.
        let buttons = page.body.matches(of: /<button name="to" value="([a-z]+)">/).map { String($0.output.1) }
        #expect(Set(buttons) == ["anna", "ben", "me"])
        #expect(buttons.map(odds.rank) == buttons.map(odds.rank).sorted())
        #expect(buttons != ["me", "ben", "anna"], "the order of hub.conf is the hub's, too: the test proves nothing")
        let given = try await browser.press(form, ["to": "anna"])
        #expect(given.body.contains("now anna&#39;s"))
        #expect(try await persons(scene).filter { $0 == "anna" }.count == 3)
        // The former form names old versions of the records.
        #expect(try await browser.send(form, ["to": "ben"]).status == 409)
        let undone = try await browser.press(try given.form(to: "/inbox/assign"))
        #expect(undone.body.contains(shown) && undone.body.contains("70.2 kg"))
        #expect(try await persons(scene).filter { $0 == "anna" }.count == 1)
        let again = try #require(Browser.forms(undone.body, to: "/inbox/assign").last)
        // Delete it, then restore it.
        let deletion = try undone.form(to: "/inbox/delete")
        let deleted = try await browser.press(deletion)
        #expect(deleted.body.contains("2 records deleted") && deleted.body.contains("The inbox is empty"))
        let back = try await browser.press(try deleted.form(to: "/inbox/restore"))
        #expect(back.body.contains("70.2 kg"))
        #expect(try await browser.send(again, ["to": "zoe"]).status == 409)
        let last = try back.form(to: "/inbox/assign")
        #expect(try await browser.send(last, ["to": "zoe"]).status == 400)
        for records in ["", "1", "1:x", "0:1", "1:1,", "<b>"] {
            #expect(try await browser.send(last, ["records": records, "to": "anna"]).status == 400, "\(records)")
        }
    }

    @Test func `an undo returns each member of a group to its former person, and counts them`() async throws {
        let scene = try await Scene(owner: ["*"], persons: "[person.anna]")
        try await weighIn(scene, 66.5, key: "a", at: "2024-03-15T07:30:05+01:00")
        _ = try await scene.command("assign", "1", "--to", "ben", "--alone")
        _ = try await scene.command("assign", "2", "--to", "me", "--alone")
        let browser = try await Browser(scene)
        let given = try await browser.press(try await browser.form("/records/1", to: "/inbox/assign"), ["to": "anna"])
        #expect(given.body.contains("and 1 more record: now anna&#39;s"))
        #expect(try await persons(scene) == ["anna", "anna"])
        let back = Browser.forms(given.body, to: "/inbox/assign")
        #expect(back.compactMap { $0["to"] } == ["ben", "me"])
        for form in back { _ = try await browser.press(form) }
        #expect(try await scene.command("samples", "weight", "--person", "ben").count == 2)
        #expect(try await scene.command("samples", "bodyFatPercentage", "--person", "me").count == 2)
        // Only the whole blood pressure waits: its members move with it and come back.
        let group = #""start":"2024-03-15T08:00:00+01:00","group":"p","source":{"device":"cuff"}"#
        let lines = [
            #"{"kind":"correlation","type":"bloodPressure","key":"p",\#(group)}"#,
            #"{"type":"bloodPressureSystolic","value":121,"unit":"mmHg","key":"ps",\#(group)}"#,
            #"{"type":"bloodPressureDiastolic","value":79,"unit":"mmHg","key":"pd",\#(group)}"#,
        ]
        try await scene.publish(lines)
        let member = try await scene.command("samples", "bloodPressureSystolic", "--json").compactMap {
            try Told($0).number("number")
        }
        _ = try await scene.command("assign", "\(try #require(member.first))", "--to", "ben", "--alone")
        let deletion = try await browser.form("/inbox", to: "/inbox/delete")
        let deleted = try await browser.press(deletion)
        #expect(deleted.body.contains("3 records deleted"), "\(Scene.words(deleted.body))")
        let restored = try await browser.press(try deleted.form(to: "/inbox/restore"))
        #expect(restored.body.contains("3 records back again"))
    }

    @Test func `a guest's weigh-in leaves the inbox by one press, counts for no person, and returns with its odds`()
        async throws
    {
        let scene = try await Scene(owner: ["*"], persons: "[person.anna]")
        for (person, weight) in [("me", "85kg"), ("ben", "71kg")] {
            _ = try await scene.command("log", "weight", weight, "--person", person, "--at", "2024-03-14 07:30")
        }
        try await weighIn(scene, 78, key: "a", at: "2024-03-15T07:30:05+01:00")
        let browser = try await Browser(scene)
        let before = try await scene.command("inbox", "--json")
        let line = try #require(before.first)
        let why = try #require(WeightOddsText(try Told(line).text("why") ?? "").text { $0 })
        let page = try await browser.get("/inbox")
        #expect(page.body.contains("<button name=\"guest\" value=\"true\">A guest's</button>"), "\(page.body)")
        let given = try await browser.press(
            try page.form(to: "/inbox/assign"), ["guest": "true"])
        let words = Scene.words(given.body)
        #expect(words.contains("and 1 more record: now a guest's.") && words.contains("The inbox is empty"), "\(words)")
        #expect(try await scene.command("inbox").isEmpty)
        #expect(try await persons(scene).count { $0 == "-" } == 2)
        #expect(try await scene.command("samples", "--guest", "--json").count == 2)
        let token = try await scene.token("reader")
        let waiting = try Told(try await scene.api("/inbox", token).body)
        #expect(waiting.list("unassigned").isEmpty && waiting.list("implausible").isEmpty)
        let undone = try await browser.press(try given.form(to: "/inbox/assign"))
        #expect(Scene.words(undone.body).contains("now no one's") && undone.body.contains(why), "\(undone.body)")
        #expect(try await scene.command("inbox", "--json") == before)
        // The rules apply again: no assignment by hand remains.
        #expect(try await scene.command("trace", "3").contains { $0.contains("assignment undone by hand") })
        // The same from the record's page, there and back.
        let own = Browser.forms(try await browser.get("/records/3").body, to: "/inbox/assign")
        _ = try await browser.press(try #require(own.first { $0["guest"] != nil }))
        let shown = try await browser.get("/records/3")
        #expect(Scene.words(shown.body).contains("Whose a guest's"), "\(Scene.words(shown.body))")
        let no = try #require(Browser.forms(shown.body, to: "/inbox/assign").first { $0["undo"] != nil })
        _ = try await browser.press(no)
        #expect(try await scene.command("inbox", "--json") == before)
        // The form names the versions that the page showed.
        #expect(try await browser.send(no, ["guest": "true"]).status == 409)
        // A hand had assigned it to anna, so it returns to her.
        _ = try await scene.command("assign", "3", "--to", "anna", "--yes")
        let page2 = try await browser.get("/records/3")
        let taken = try await browser.press(
            try #require(Browser.forms(page2.body, to: "/inbox/assign").first { $0["guest"] != nil }))
        let way = try taken.form(to: "/inbox/assign")
        #expect(way["to"] == "anna" && way["undo"] == nil)
        _ = try await browser.press(way)
        #expect(try await persons(scene).count { $0 == "anna" } == 2)
    }

    @Test func `a value that looks wrong is confirmed or deleted`() async throws {
        let scene = try await Scene(owner: ["*"])
        try await weighIn(scene, 410, key: "a", at: "2024-03-15T07:30:05+01:00")
        _ = try await scene.command("assign", "1", "--to", "me")
        let browser = try await Browser(scene)
        let page = try await browser.get("/inbox")
        #expect(page.body.contains("Looks wrong") && page.body.contains("410.0 kg"))
        let confirmed = try await browser.press(try page.form(to: "/records/1/confirm"))
        #expect(confirmed.body.contains("The inbox is empty"))
        #expect(try await scene.command("inbox").isEmpty)
    }

    @Test func `the inbox says so if it has more records than it shows`() async throws {
        let scene = try await Scene()
        let lines = (0..<201).map { number in
            #"{"type":"weight","value":66,"unit":"kg","start":"2024-03-15T07:00:00Z","key":"\#(number)","source":{"device":"hall"}}"#
        }
        let browser = try await Browser(scene)
        func page(after lines: ArraySlice<String>) async throws -> String {
            try await scene.publish(lines)
            return try await browser.get("/inbox").body
        }
        #expect(try await !page(after: lines.dropLast()).contains("The newest 200"))
        #expect(try await page(after: lines.suffix(1)).contains("The newest 200"))
    }
}
