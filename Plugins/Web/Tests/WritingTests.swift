import Foundation
import HubProcess
import Testing

@testable import Web

/// Entering, editing and deleting values on the page.
@Suite(.timeLimit(.minutes(5))) struct WritingTests {
    /// The hub's samples of a type, from its command.
    private func samples(_ scene: Scene, _ type: String) async throws -> [[String: Any]] {
        try await scene.command("samples", type, "--json", "--last", "50").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    private func value(_ sample: [String: Any]) -> Double? { sample["value"] as? Double }

    @Test func `entering, editing and deleting a value and each undo change the result of hub samples`() async throws {
        let scene = try await Scene(owner: ["*"])
        let browser = try await Browser(scene)
        let form = try await browser.form("/add?person=me&type=weight")
        #expect(form["unit"] == "kg")
        let page = try await browser.press(form, ["value": "12st 8lb", "at": "2024-03-15 07:30", "note": "with shoes"])
        #expect(page.body.contains("79.8 kg") && page.body.contains("saved"))
        let stored = try #require(try await samples(scene, "weight").first)
        #expect((stored["start"] as? String)?.hasPrefix("2024-03-15T07:30:00") == true)
        #expect((stored["original"] as? [String: Any])?["unit"] as? String == "lb")
        #expect((stored["metadata"] as? [String: Any])?["note"] as? String == "with shoes")
        let number = try #require(stored["number"] as? Int)
        // Undo it from the notice, and restore it.
        let undo = try page.form(to: "/records/\(number)/undo")
        let gone = try await browser.press(undo)
        #expect(gone.body.contains("by hand") && gone.body.contains("Bring it back"))
        #expect(try await samples(scene, "weight").isEmpty)
        let again = try await browser.press(try #require(Browser.forms(gone.body, to: "/records/\(number)/undo").last))
        #expect(again.body.contains("is back") && again.body.contains("with shoes"))
        // Edit it, and undo the edit.
        let edit = try await browser.form("/records/\(number)/edit")
        #expect(edit["value"] == "176" && edit["unit"] == "lb" && edit["note"] == "with shoes")
        let edited = try await browser.press(edit, ["value": "79,5", "unit": "kg", "reason": "the shoes"])
        #expect(edited.body.contains("79.5 kg") && edited.body.contains("edited by hand: the shoes"))
        #expect(value(try #require(try await samples(scene, "weight").first)) == 79.5)
        let back = try await browser.press(
            try edited.form(to: "/records/\(number)/undo"))
        #expect(back.body.contains("as its source says"))
        let restored = try #require(try await samples(scene, "weight").first)
        #expect((restored["original"] as? [String: Any])?["value"] as? Double == 176)
        // Delete it after the confirmation.
        let ask = try await browser.form("/records/\(number)/delete")
        let deleted = try await browser.press(ask, ["reason": "the dog"])
        #expect(deleted.body.contains("the dog"))
        #expect(try await samples(scene, "weight").isEmpty)
    }

    @Test func `a note of two lines is unchanged if another field is edited`() async throws {
        let scene = try await Scene(owner: ["*"])
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me", "--note", "before\nbreakfast")
        let browser = try await Browser(scene)
        let form = try await browser.form("/records/1/edit")
        #expect(form["note"] == "before\nbreakfast")
        // With the line ends that a browser sends.
        _ = try await browser.press(form, ["note": "before\r\nbreakfast", "value": "80.3"])
        let edited = try #require(try await samples(scene, "weight").first)
        #expect(value(edited) == 80.3 && edited["edited"] as? [String] == ["value"], "\(edited)")
        #expect((edited["metadata"] as? [String: Any])?["note"] as? String == "before\nbreakfast")
    }

    @Test func `a blood pressure, a meal, a workout, a night and a count have forms for their types`() async throws {
        let scene = try await Scene(owner: ["*"])
        let browser = try await Browser(scene)
        func add(_ type: String, _ fields: [String: String]) async throws {
            _ = try await browser.press(try await browser.form("/add?person=me&type=\(type)"), fields)
        }
        try await add("bloodPressure", ["value": "121", "second": "79", "at": "yesterday 7:30"])
        #expect(try await samples(scene, "bloodPressureSystolic").map(value) == [121])
        #expect(try await samples(scene, "bloodPressureDiastolic").map(value) == [79])
        try await add(
            "food", ["value": "Ham Sandwich", "energy": "350", "protein": "12", "with": "dietaryCalcium 90mg"])
        #expect(try await samples(scene, "dietaryEnergyConsumed").map(value) == [350])
        #expect(try await samples(scene, "dietaryProtein").map(value) == [12])
        #expect(try await samples(scene, "dietaryCalcium").count == 1)
        try await add("workout", ["value": "swimming", "last": "30", "distance": "1", "energy": "300"])
        #expect(try await samples(scene, "workout").first?["value"] as? String == "swimming")
        #expect(try await samples(scene, "distanceSwimming").count == 1)
        try await add("sleepAnalysis", ["value": "asleepCore", "at": "2024-03-15 23:10", "to": "2024-03-16 07:05"])
        #expect(
            (try await samples(scene, "sleepAnalysis").first?["end"] as? String)?.hasPrefix("2024-03-16T07:05") == true)
        try await add("stepCount", ["value": "5000", "at": "2024-03-15 08:00", "to": "2024-03-15 09:15"])
        #expect(try await samples(scene, "stepCount").map(value) == [5_000])
        try await add("insulinDelivery", ["value": "4", "facts": "insulinDeliveryReason=bolus"])
        #expect(try await samples(scene, "insulinDelivery").map(value) == [4])
        // A blood pressure is deleted and restored with its members.
        let whole = try #require(try await samples(scene, "bloodPressure").first?["number"] as? Int)
        let edit = try await browser.form("/records/\(whole)/edit")
        #expect(edit["value"] == "121" && edit["second"] == "79")
        _ = try await browser.press(edit, ["value": "118"])
        #expect(try await samples(scene, "bloodPressureSystolic").map(value) == [118])
        // The edits are of its members; a second edit follows the first, and one undo removes both.
        let second = try await browser.press(try await browser.form("/records/\(whole)/edit"), ["second": "77"])
        #expect(second.body.matches(of: />Undo all edits</).count == 2 && !second.body.contains(">Undo</"))
        let undo = try await browser.form("/records/\(whole)", to: "/records/\(whole)/undo")
        #expect(undo["what"] == "edit")
        let source = try await browser.press(undo)
        #expect(source.body.contains("as its source says") && !source.body.contains("Undo all edits"))
        #expect(try await samples(scene, "bloodPressureSystolic").map(value) == [121])
        #expect(try await samples(scene, "bloodPressureDiastolic").map(value) == [79])
        _ = try await browser.press(try await browser.form("/records/\(whole)/delete"))
        #expect(try await samples(scene, "bloodPressureDiastolic").isEmpty)
    }

    @Test func `an unreadable value is reported beside its field, and the typed text stays`() async throws {
        let scene = try await Scene(owner: ["*"])
        let browser = try await Browser(scene)
        let weight = try await browser.form("/add?person=me&type=weight")
        for (fields, field, words) in [
            (["value": "80 parsec"], "value", "there is no unit parsec"),
            (["value": "80 m"], "value", "measures length"),
            (["value": "1,234.5kg"], "value", "without separators between thousands"),
            (["value": ""], "value", "a value is missing"), (["value": "80", "at": "monday"], "at", "is none of"),
            (["value": "80", "at": "23:59:59"], "at", "to come"),
            (["value": "80", "at": "2024-03-15 7:30", "to": "x"], "to", "is none of"),
            (["value": "80", "facts": "lapLength=25"], "facts", "of what"),
            (["value": "80", "facts": "syncIdentifier=a"], "facts", "syncVersion"),
        ] as [([String: String], String, String)] {
            let answer = try await browser.send(weight, fields.merging(["note": "kept <b>"]) { old, _ in old })
            #expect(answer.status == 422, "\(fields)")
            let fault = answer.body.components(separatedBy: "id=\"\(field)-fault\">").dropFirst().first ?? ""
            #expect(fault.components(separatedBy: "</p>")[0].contains(words), "\(fields): \(answer.body)")
            #expect(answer.body.contains("value=\"kept &lt;b&gt;\"") && answer.body.contains("aria-invalid"))
        }
        #expect(try await samples(scene, "weight").isEmpty)
        // Half a blood pressure is refused.
        let pressure = try await browser.form("/add?person=me&type=bloodPressure")
        #expect(try await browser.send(pressure, ["value": "120"]).body.contains("id=\"second-fault\""))
        #expect(
            try await browser.send(pressure, ["value": "80", "second": "120"]).body.contains(
                "the greater one, comes first"))
        for type in ["nothing", "x.acme.y", "electrocardiogram", "%3Cscript%3E"] {
            #expect(try await browser.get("/add?person=me&type=\(type)").status == 404, "\(type)")
        }
    }

    @Test func `a probable slip needs confirmation, and a form that is sent twice makes one entry`() async throws {
        let scene = try await Scene(owner: ["*"])
        let browser = try await Browser(scene)
        let form = try await browser.form("/add?person=me&type=weight")
        let typed = ["value": "80.4", "at": "2024-03-15 07:30"]
        _ = try await browser.press(form, typed)
        let twice = try await browser.press(form, typed)
        #expect(twice.body.contains("says so already"))
        #expect(try await samples(scene, "weight").count == 1)
        let next = try await browser.form("/add?person=me&type=weight")
        let slip = ["value": "180", "at": "2024-03-16 07:30"]
        let asked = try await browser.send(next, slip)
        #expect(
            asked.status == 200 && asked.body.contains("Is that right?") && asked.body.contains("the last weight was"))
        #expect(try await samples(scene, "weight").count == 1)
        let sure = try asked.form(to: "/add")
        #expect(sure["value"] == "180" && sure["sure"]?.isEmpty == false)
        // Another value than the one to be confirmed needs a confirmation too.
        #expect(try await browser.send(sure, ["value": "190"]).body.contains("Is that right?"))
        _ = try await browser.press(sure)
        #expect(try await samples(scene, "weight").count == 2)
    }

    @Test func `times are in the person's zone on every page, and can be typed again in that form`() async throws {
        let scene = try await Scene(owner: ["*"], persons: "[person.mei]\nzone = \"Asia/Tokyo\"\n")
        let browser = try await Browser(scene)
        _ = try await scene.command(
            "log", "weight", "61kg", "--person", "mei", "--at", "2026-06-30T16:30:00-04:00", "--yes")
        let list = try await browser.get("/types/weight?person=mei&from=2026-07-01&to=2026-07-01")
        #expect(list.body.contains("2026-07-01 05:30:00 +09:00"), "\(list.body)")
        #expect(try await browser.get("/records/1").body.contains("2026-07-01 05:30:00 +09:00"))
        let edit = try await browser.form("/records/1/edit")
        #expect(edit["at"] == "2026-07-01 05:30:00+09:00")
        _ = try await browser.press(edit, ["at": "2026-07-01 06:00"])
        let start = try #require(try await samples(scene, "weight").first?["start"] as? String)
        #expect(start == "2026-07-01T06:00:00+09:00")
        let day = try await browser.send(try await browser.form("/records/1/edit"), ["at": "2026-07-02"])
        #expect(day.status == 422 && day.body.contains("add the time of day"))
    }

    @Test func `an edit fails if the record changed after its form was opened, and the form shows the new values`()
        async throws
    {
        let scene = try await Scene(owner: ["*"])
        let browser = try await Browser(scene)
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        let (edit, removal) = (try await browser.form("/records/1/edit"), try await browser.form("/records/1/delete"))
        _ = try await scene.command("edit", "1", "81.2kg")
        let answer = try await browser.send(edit, ["note": "mine"])
        #expect(answer.status == 422 && answer.body.contains("has changed since the form was opened"))
        // The typed text stays, and the other fields show the present values.
        let again = try answer.form(to: "/records/1/edit")
        #expect(again["value"] == "81.2" && again["note"] == "mine")
        #expect(try await samples(scene, "weight").map(value) == [81.2])
        #expect(try await browser.send(removal).status == 409)
        #expect(try await samples(scene, "weight").count == 1)
        _ = try await browser.press(again)
        let after = try #require(try await samples(scene, "weight").first)
        #expect(value(after) == 81.2 && (after["metadata"] as? [String: Any])?["note"] as? String == "mine")
        #expect(try await browser.send(try await browser.form("/records/1/edit")).body.contains("Nothing was changed"))
    }

    @Test func `an edit of a blood pressure fails if a member changed after its form was opened`() async throws {
        let scene = try await Scene(owner: ["*"])
        let browser = try await Browser(scene)
        _ = try await scene.command("log", "bloodPressure", "120/80", "--person", "me")
        let edit = try await browser.form("/records/1/edit")
        _ = try await scene.command("edit", "2", "125mmHg")
        let answer = try await browser.send(edit, ["second": "85"])
        #expect(answer.status == 422 && answer.body.contains("has changed since the form was opened"))
        let again = try answer.form(to: "/records/1/edit")
        #expect(again["value"] == "125" && again["second"] == "85")
        _ = try await browser.press(again)
        #expect(try await samples(scene, "bloodPressureDiastolic").map(value) == [85])
        #expect(try await samples(scene, "bloodPressureSystolic").map(value) == [125])
    }

    @Test func `a viewer of one person writes and undoes only the person's records, at any address`() async throws {
        let scene = try await Scene(owner: ["*"])
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        _ = try await scene.command("log", "weight", "71.3kg", "--person", "ben")
        let browser = try await Browser(scene, "ben")
        let unknown = try await browser.get("/records/999")
        for path in [
            "/records/1", "/records/1/edit", "/records/1/delete", "/records/999/edit", "/records/0", "/records/-1",
            "/records/x", "/add?person=me", "/add?person=me&type=weight", "/add?person=zoe", "/inbox", "/devices",
            "/devices/ihealth-hs5/users", "/preferences?person=me",
        ] {
            let answer = try await browser.get(path)
            #expect(answer.status == 404 && answer.body == unknown.body, "\(path)")
        }
        // Forms of own records, sent to another's addresses.
        let add = try await browser.form("/add?type=weight", to: "/add")
        let edit = try await browser.form("/records/2/edit")
        let undo = try await browser.press(edit, ["value": "71.2"])
        let form = try undo.form(to: "/records/2/undo")
        for (action, fields) in [
            ("/add?person=me&type=weight", add.fields.merging(["value": "70"]) { $1 }),
            ("/records/1/edit", edit.fields), ("/records/1/delete", form.fields), ("/records/1/undo", form.fields),
            ("/records/1/confirm", form.fields), ("/records/999/undo", form.fields),
            ("/inbox/assign", form.fields.merging(["records": "1:1", "to": "ben"]) { $1 }),
            ("/inbox/delete", form.fields.merging(["records": "1:1"]) { $1 }),
            ("/inbox/restore", form.fields.merging(["records": "1:1"]) { $1 }),
            ("/devices/ihealth-hs5/users", form.fields), ("/preferences?person=me", form.fields),
        ] {
            let answer = try await browser.send(Browser.Form(action: action, fields: fields))
            #expect(answer.status == 404, "\(action): \(answer.body)")
            #expect(!answer.body.contains("80.4"))
            // Without the form token not even own records can be changed; owner's addresses do not exist with any token.
            let other = try await browser.send(Browser.Form(action: action, fields: fields), ["token": "x"])
            let isOwners = action.hasPrefix("/inbox") || action.hasPrefix("/devices")
            #expect(other.status == (isOwners ? 404 : 403), "\(action)")
        }
        #expect(try await samples(scene, "weight").compactMap(value).sorted() == [71.2, 80.4])
        _ = try await browser.press(form)
        _ = try await browser.press(add, ["value": "71.8", "at": "2024-03-15 07:30"])
        #expect(try await samples(scene, "weight").compactMap(value).sorted() == [71.3, 71.8, 80.4])
        #expect(try await samples(scene, "weight").filter { $0["person"] as? String == "ben" }.count == 2)
        // The viewer does not learn the new owner of a former record.
        _ = try await scene.command("assign", "2", "--to", "me")
        #expect(try await browser.get("/records/2").body == unknown.body)
        _ = try await scene.command("assign", "1", "--to", "ben")
        let moved = try await browser.get("/records/1")
        #expect(moved.status == 200 && !moved.body.contains(">me<"))
    }

    @Test func `text of every kind is kept, and is never markup`() async throws {
        let scene = try await Scene(owner: ["*"])
        let browser = try await Browser(scene)
        let evil = #""><script>alert(1)</script><img src=x onerror='alert(1)'>&amp;"#
        let form = try await browser.form("/add?person=me&type=weight")
        let page = try await browser.press(
            form, ["value": "80.4", "at": "2024-03-15 07:30", "note": evil, "facts": "a<b>=\(evil)"])
        let meal = try await browser.press(
            try await browser.form("/add?person=me&type=food"), ["value": evil, "energy": "350", "note": evil])
        let bad = try await browser.send(form, ["value": evil, "at": evil, "to": evil, "note": evil])
        let edited = try await browser.press(
            try await browser.form("/records/1/edit"), ["note": evil + "2", "reason": evil])
        for answer in [
            page, meal, bad, edited, try await browser.get("/records/1"), try await browser.get("/records/1/edit"),
        ] { #expect(!answer.body.contains("<script>") && !answer.body.contains("<img"), "\(answer.body)") }
        let stored = try #require(try await samples(scene, "weight").first?["metadata"] as? [String: Any])
        #expect(stored["note"] as? String == evil + "2" && stored["a<b>"] as? String == evil)
        #expect(edited.body.contains("&lt;script&gt;"))
    }

    @Test func `without a grant the page names the command that gives it, and shows the permitted parts`()
        async throws
    {
        let scene = try await Scene(owner: ["status"])
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        let browser = try await Browser(scene)
        let record = try await browser.get("/records/1")
        #expect(record.status == 200 && record.body.contains("80.4 kg"))
        for word in ["edit", "retract", "trace"] {
            #expect(record.body.contains("(<code>\(word)</code>)"), "\(word): \(record.body)")
        }
        for path in ["/add?person=me", "/add?person=me&type=weight", "/records/1/edit", "/records/1/delete"] {
            let answer = try await browser.get(path)
            #expect(
                answer.status == 200 && answer.body.contains("hub permissions allow web &#39;*&#39; --owner"), "\(path)"
            )
            #expect(Browser.forms(answer.body, to: path).isEmpty)
        }
        #expect(try await browser.get("/types/weight?person=me").body.contains("80.4 kg"))
        #expect(try await browser.get("/devices").status == 200)
    }

    @Test func `a page that is enabled without owner rights names the one command that grants all`() async throws {
        let scene = try await Scene(owner: [])
        let command = "hub permissions allow web '*' --owner"
        _ = try await scene.command("configure", "web", "--disable")
        #expect(try await scene.advice(of: ["configure", "web", "--enable"]).contains(command))
        _ = try await scene.command("permissions", "allow", "web", "*", "--owner")
        try await eventually { try await scene.get("/login").status != 0 }
        let browser = try await Browser(scene)
        for path in ["/add?person=me&type=weight", "/inbox", "/devices", "/system", "/plugins/web", "/setup", "/apply"]
        {
            let answer = try await browser.get(path)
            #expect(answer.status == 200 && !answer.body.contains("is not granted"), "\(path): \(answer.body)")
        }
    }

    @Test func `names for programs are shown as words on the page`() async throws {
        let scene = try await Scene(owner: ["*"])
        let lines = [
            #"{"type":"bloodType","value":"aPositive","start":"2024-03-15T07:30:05+01:00","key":"a","subject":{"name":"me"}}"#,
            #"{"type":"weight","value":80,"unit":"kg","start":"2024-03-15T07:30:05+01:00","key":"b","subject":{"name":"me"},"metadata":{"datedByHub":true}}"#,
        ]
        try await scene.publish(lines)
        let browser = try await Browser(scene)
        for (path, words, raw) in [
            ("/data", "A+", "aPositive"), ("/records/2", "Dated by the hub yes", "datedByHub"),
            ("/inbox", "no value looks wrong", "hardly true"),
        ] {
            let answer = try await browser.get(path)
            #expect(Scene.words(answer.body).contains(words) && !answer.body.contains(raw), "\(path): \(answer.body)")
        }
        #expect(try await browser.get("/?person=ben").body.contains("<h2>No values yet</h2>"))
    }
}
