import Foundation
import HubProcess
import Samples
import Testing

@testable import Web

/// Names for programs are shown as words on the pages.
@Suite(.timeLimit(.minutes(10))) struct WordTests {
    /// Names for programs in the text of a page.
    ///
    /// Text in `code` is meant to be typed, so it is skipped.
    private static func raw(_ page: String) -> Set<String> {
        let units: Set<String> = ["mmHg", "dBASPL", "mL", "dL", "kJ"]
        let text = Scene.words(page.replacing(/<(script|style|code)[^>]*>[^<]*<\/[a-z]+>/, with: " "))
        let found = text.matches(of: /\b(?:[a-z]+[0-9]*[A-Z]\w*|(?:x|hc)\.\w[\w.]*|deg[CF]|true|false|hardly true)\b/)
        return Set(found.map { String($0.output) }).subtracting(units)
    }

    /// Example values of a metadata key, in JSON.
    private static func examples(of key: MetadataKey) -> [String] {
        switch key.content {
        case .string: ["\"Some text\""]
        case .number: ["1.5"]
        case .boolean: ["true", "false"]
        case .date: ["\"2024-03-15T07:30:05+01:00\""]
        case .quantity(let unit): ["{\"value\":1.5,\"unit\":\"\(unit ?? "count")\"}"]
        case .enumeration(let values): values.map { "\"\($0.name)\"" } + ["\(values[0].raw ?? 0)"]
        }
    }

    /// Records of each type, value, activity and fact.
    private static var records: [String] {
        var lines: [String] = []
        func add(_ type: String, _ members: String, end: String = "") {
            lines.append(
                #"{"type":"\#(type)","start":"2024-03-15T07:30:05+01:00",\#(end)"key":"\#(lines.count)","subject":{"name":"me"},\#(members)}"#
            )
        }
        for type in TypeRegistry.standard.all {
            let facts = MetadataKey.required(on: type.id).map { "\"\($0.name)\":\(examples(of: $0)[0])" }
            let metadata = "\"metadata\":{\(facts.joined(separator: ","))}"
            for value in type.values where !value.isOldName && value.raw != nil {
                add(type.id.rawValue, "\"value\":\"\(value.name)\",\(metadata)")
            }
            let isMember = type.id == .bloodPressureSystolic || type.id == .bloodPressureDiastolic
            if let unit = type.unit, let limits = type.limits, !isMember {
                let value = max(limits.possible.lowerBound, 0.5)
                add(type.id.rawValue, "\"value\":\(value),\"unit\":\"\(unit)\",\(metadata)")
            }
        }
        for key in MetadataKey.all where !key.name.hasPrefix("sync") {
            for example in examples(of: key) {
                add("weight", #""value":80,"unit":"kg","metadata":{"\#(key.name)":\#(example)}"#)
            }
        }
        for key in ["datedByHub", "dstAmbiguous", "dstGap", "clockSuspect", "isCycleStart"] {
            add("weight", #""value":80,"unit":"kg","metadata":{"\#(key)":true}"#)
        }
        for activity in WorkoutActivity.all {
            add("workout", "\"value\":\"\(activity.name)\"", end: #""end":"2024-03-15T08:30:05+01:00","#)
        }
        return lines
    }

    @Test func `each type, value, activity and fact has words on every page that shows it`() async throws {
        let scene = try await Scene()
        let records = Self.records
        let answers = try await scene.publish(records)
        let refused = answers.filter { !$0.isEmpty && !$0.contains("\"stored\"") }
        #expect(refused.isEmpty, "\(refused)")
        let browser = try await Browser(scene)
        let types = TypeRegistry.standard.all.map(\.id.rawValue)
        var paths = ["/", "/inbox", "/add", "/preferences"] + (1...6).map { "/data?person=me&page=\($0)" }
        paths += types.flatMap { ["/types/\($0)?person=me", "/add?person=me&type=\($0)"] }
        paths += (1...records.count).map { "/records/\($0)" }
        for path in paths {
            let answer = try await browser.get(path)
            // Some types cannot be entered by hand.
            #expect(answer.status == 200 || answer.status == 404 && path.hasPrefix("/add?"), "\(path): \(answer)")
            let raw = Self.raw(answer.body)
            #expect(raw.isEmpty, "\(path): \(raw)")
        }
    }

    /// A plugin that declares a type and stores a record of it.
    private static func declaring(_ type: String, in folder: TemporaryFolder) throws -> String {
        let described = """
            {"name":"declaring","summary":"Muscles.","version":"1.0","writes":["\(type)"],
             "declares":[{"id":"\(type)","kind":"quantity","unit":"kg","aggregation":"discreteArithmetic"}]}
            """
        let record =
            #"{"type":"\#(type)","value":31.5,"unit":"kg","start":"2024-03-15T07:30:05+01:00","key":"a","subject":{"name":"me"}}"#
        let manifest = try folder.write(described, to: "manifest.json")
        let program = try folder.write(
            "read -r first\necho '\(record)'\nwhile read -r line; do :; done\n", to: "program.sh")
        let start = try folder.write(
            "#!/bin/sh\nexec hub bridge plugin --manifest \(manifest) \"$@\" -- /bin/sh \(program)\n",
            to: "hub-declaring")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: start)
        return start
    }

    @Test func `a type that a plugin declares has a name in words on its pages`() async throws {
        let type = "x.ihealth.muscleMass"
        let folder = try TemporaryFolder()
        let program = try Self.declaring(type, in: folder)
        let scene = try await Scene(plugins: { _ in "[plugin.declaring]\nexecutable = \"\(program)\"\n" })
        try await eventually { try await !scene.command("samples", "--json").isEmpty }
        let browser = try await Browser(scene)
        for path in ["/data?person=me", "/types/\(type)?person=me", "/records/1"] {
            let page = try await browser.get(path)
            #expect(page.status == 200 && Scene.words(page.body).contains("Muscle mass (ihealth)"), "\(path): \(page)")
            #expect(Self.raw(page.body).isEmpty, "\(path): \(Self.raw(page.body))")
        }
    }

    @Test func `settings of the household, persons and plugins have names in words`() async throws {
        let browser = try await Browser(
            try await Scene(plugins: { "[plugin.json-lines]\nenabled = false\npath = \"\($0)\"" }))
        let setUp = try await browser.get("/setup")
        #expect(setUp.body.contains(">Expected weight <code>expected_weight</code></label>"), "\(setUp.body)")
        let plugin = try await browser.get("/plugins/json-lines")
        #expect(plugin.body.contains("Max size <code>max_size</code>"), "\(plugin.body)")
        #expect(!Scene.words(plugin.body).contains("Takes true or false"))
    }

    @Test func `a facts field takes the names and values that the page shows`() async throws {
        let browser = try await Browser(try await Scene())
        var form = try await browser.form("/add?person=me&type=insulinDelivery")
        #expect(form["facts"] == "Insulin delivery reason=")
        form["facts"] = "Insulin delivery reason=Bolus"
        let page = try await browser.press(form, ["value": "4", "at": "2024-03-15 07:30"])
        #expect(page.body.contains("saved."), "\(page.body)")
        #expect(Scene.words(try await browser.get("/records/1").body).contains("Insulin delivery reason Bolus"))
    }

    @Test func `a blood pressure at the last possible time is shown`() async throws {
        let scene = try await Scene()
        let records = [("bloodPressure", ""), ("bloodPressureSystolic", "120"), ("bloodPressureDiastolic", "80")].map {
            let value = $1.isEmpty ? "" : #""value":\#($1),"unit":"mmHg","#
            return
                #"{"type":"\#($0)",\#(value)"start":"9999-12-30T23:59:59.999999Z","key":"\#($0)","group":"g","subject":{"name":"me"}}"#
        }
        let answers = try await scene.publish(["[\(records.joined(separator: ","))]"])
        try #require(answers.joined().contains("\"stored\""), "\(answers)")
        let browser = try await Browser(scene)
        for path in [
            "/data?person=me", "/types/bloodPressure?person=me", "/types/bloodPressureSystolic?person=me", "/records/1",
        ] {
            let page = try await browser.get(path)
            #expect(page.status == 200 && page.body.contains("120"), "\(path): \(page)")
        }
    }
}
