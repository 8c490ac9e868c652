import Foundation
import HubProcess
import JSON
import Testing

private typealias Question = SchemaJudge.Question

/// The schemas accept and reject the vectors and the documents' examples as the hub does.
@Suite struct SchemaJudgementTests {
    /// Faults that a schema cannot express, each with the vectors that have this fault.
    private static let unsayable: [String: String] = [
        "the types, and the values, units and metadata of each":
            "J7 J8 J9 J10 J16 J17 J18 J59 J60 J61 J62 J63 J64 J65 J69 J80 J81 J82 J83 J86 J88 M62 M64 M66 M67 W7",
        "members that exclude each other": "J33 J54 J67 J68 J84 J85 J87",
        "the months with 30 days": "J25 J53 T17",
        "the limits of bytes and of nesting": "J43 J44 J46 M63 F9",
        "duplicate names in an object": "J42",
        "the content of other messages and of the hub":
            "J40 J49 J52 J71 M20 M21 M35 M36 M46 M48 M49 M61 W6 W8 W14",
        "the number of frames": "M43 M44",
    ]

    /// The questions about a vector, each with the expected verdict.
    private static func questions(_ vector: JSONTree) -> [(question: Question, isGood: Bool)] {
        let id = vector["id"]?.text ?? ""
        let isGood = vector["code"] == nil && vector["error"] == nil
        func ask(
            _ schema: String, _ text: String?, closed: Bool = false, isGood: Bool = isGood, part: String = ""
        ) -> [(Question, Bool)] {
            text.map { [(Question(name: id + part, schema: schema, text: $0, closed: closed), isGood)] } ?? []
        }
        func quoted(_ name: String) -> String? { vector[name].map(\.json) }
        switch vector["kind"]?.text {
        case "record":
            return ask("record-given.json", vector["in"]?.text)
                + ask("record.json", vector["out"]?.text, closed: true, part: " out")
        case "stored": return ask("record.json", vector["text"]?.text, closed: true)
        case "grants": return ask("hub/WELCOME.json#/properties/grants", vector["in"]?.text, closed: true)
        case "number": return ask("common.json#/$defs/number", vector["in"]?.text)
        case "time": return ask("common.json#/$defs/time", quoted("in"))
        case "cursor": return ask("common.json#/$defs/cursor", quoted("in"))
        case "place": return ask("feed.json#/$defs/place", quoted("in"))
        case "topic": return ask("feed.json#/$defs/topic", quoted("in") ?? quoted("out"))
        case "message":
            let verb = vector["verb"]?.text ?? ""
            // Only clients' verbs have a schema in this folder.
            let schema = "client/\(verb).json"
            guard (try? Documents.schemaNames().contains(schema)) == true else { return [] }
            return ask(schema, vector["body"]?.text)
        case "dialogue":
            let steps = vector["steps"]?.list?.map { $0.list?.compactMap(\.text) ?? [] } ?? []
            return steps.enumerated().flatMap { index, step -> [(Question, Bool)] in
                guard step.count == 3, step[0] == ">" else { return [] }
                let isRefused = steps.dropFirst(index + 1).first?.last?.contains(#""code":"limit""#) ?? false
                return ask("client/\(step[1]).json", step[2], closed: true, isGood: !isRefused, part: ".\(index)")
            }
        default: return []
        }
    }

    @Test(.enabled(if: Need.jsonschema.isMet, "\(Need.jsonschema.reason)"))
    func `R3.4 R6.9 R6.11 R6.20 R8.3 schemas accept each good vector and reject each malformed one`() async throws {
        let unsayable = Set(Self.unsayable.values.flatMap { $0.split(separator: " ").map(String.init) })
        let vectors = try Documents.vectors().flatMap(Self.questions)
        let metaschema = try Documents.schemaNames().map { Question(name: $0, schema: $0) }
        let examples = try Self.examples()
        let verdicts = try await SchemaJudge.verdicts(on: vectors.map(\.question) + metaschema + examples)
        var taken: Set<String> = []
        for (verdict, isGood) in zip(verdicts, vectors.map(\.isGood)) {
            if isGood {
                #expect(verdict.isValid, "\(verdict.question.name): \(verdict.faults.prefix(3))")
            } else if verdict.isValid {
                taken.insert(verdict.question.name)
            }
        }
        #expect(taken == unsayable)
        #expect(vectors.count > 280 && vectors.count(where: \.isGood) > 100)
        for verdict in verdicts.dropFirst(vectors.count) {
            #expect(verdict.isValid, "\(verdict.question.name): \(verdict.faults.prefix(3))")
        }
        #expect(examples.count > 50)
    }

    /// The complete messages in Protocol.md, and the examples of asyncapi.json.
    private static func examples() throws -> [Question] {
        var examples: [Question] = []
        // Verbs whose examples are messages of the hub, including some that both sides send.
        let hubs = ["WELCOME", "STORED", "RESULT", "DELIVER", "ERROR", "STOP"]
        let names = try Documents.schemaNames()
        for line in try Documents.text("Protocol.md").split(separator: "\n") {
            guard let match = line.firstMatch(of: /^(?:[<>] )?([A-Z]+(?:-PUT)?) +(\{.*\})$/), !match.2.contains("…"),
                JSONTree(Array(match.2.utf8)) != nil
            else { continue }
            let verb = String(match.1)
            let isHub = hubs.contains(verb) || line.hasPrefix("<")
            let schema = "\(isHub ? "hub" : "client")/\(verb).json"
            guard names.contains(schema) else { continue }
            examples.append(
                Question(name: "Protocol.md \(line.prefix(60))", schema: schema, text: String(match.2), closed: true))
        }
        let messages = try #require(try Documents.part("asyncapi.json#/components/messages")?.members)
        for message in messages {
            let schema = try #require(message.value["payload"]?["schema"]?["$ref"]?.text).dropFirst("Schemas/".count)
            let list = message.value["examples"]?.list ?? []
            #expect(!list.isEmpty, "\(message.name) has no example")
            for example in list {
                let payload = try #require(example["payload"])
                examples.append(
                    Question(
                        name: "asyncapi.json \(message.name)", schema: String(schema), text: payload.json, closed: true)
                )
            }
        }
        return examples
    }

    @Test(.enabled(if: Need.jsonschema.isMet, "\(Need.jsonschema.reason)"))
    func `R13.5 the manifest of each plugin is valid and has only members that the schema lists`() async throws {
        let programs = [
            "hub-apple-health", "hub-exist", "hub-gap-filler", "hub-ihealth-hs3", "hub-ihealth-hs4", "hub-ihealth-hs5",
            "hub-json-lines", "hub-sami",
        ]
        var questions: [Question] = []
        for program in programs {
            let result = try await ChildProcess(program, ["--describe"]).result()
            questions.append(Question(name: program, schema: "manifest.json", text: result.output, closed: true))
        }
        let ours = questions.count
        // Invalid manifests.
        let start = #"{"name":"a","summary":"A.","version":"1""#
        let wrong = [
            #"{"summary":"A.","version":"1"}"#, #"{"name":"hub","summary":"A.","version":"1"}"#,
            start + #","protocol":[2]}"#,
            start + #","reads":"weight"}"#, start + #","reaches":["moon"]}"#,
            start + #","commands":[{"name":"Log in","help":"."}]}"#,
            start + #","sink":{"batchRecords":0}}"#,
            start + #","declares":[{"id":"weight","kind":"quantity","unit":"kg","aggregation":"cumulative"}]}"#,
            start + #","declares":[{"id":"x.a.b","kind":"quantity"}]}"#,
            start + #","settings":[{"name":"kind","help":".","type":"string"}]}"#,
            start + #","settings":[{"name":"a","help":"two\nlines","type":"string"}]}"#,
            start + #","settings":[{"name":"a","help":".","type":"choice"}]}"#,
            start + #","settings":[{"name":"a","help":".","type":"list","items":{"type":"list"}}]}"#,
            start + #","settings":[{"name":"a","help":".","type":"integer","secret":true}]}"#,
            start + #","settings":[{"name":"a","help":".","type":"duration","default":"5 minutes"}]}"#,
            start + #","settings":[{"name":"a","help":".","type":"string","required":true,"default":"b"}]}"#,
            start + #","settings":[{"name":"a","help":".","type":"string","pattern":"b"}]}"#,
        ]
        questions += wrong.map { Question(name: $0, schema: "manifest.json", text: $0) }
        let objections = #"{"objections":[{"setting":"file","reason":"the folder /media/stick is not there"}]}"#
        questions.append(Question(name: objections, schema: "objections.json", text: objections, closed: true))
        let verdicts = try await SchemaJudge.verdicts(on: questions)
        for (index, verdict) in verdicts.enumerated() {
            let isGood = index < ours || index == questions.count - 1
            #expect(verdict.isValid == isGood, "\(verdict.question.name): \(verdict.faults.prefix(3))")
        }
    }

    @Test(.enabled(if: Need.jsonschema.isMet, "\(Need.jsonschema.reason)"))
    func `the program in Clients.md validates records by a schema and the schemas that it refers to`() async throws {
        let folder = try TemporaryFolder()
        let program = try folder.write(ReadmePrograms(mark: "schema").text("judge.py"), to: "judge.py")
        let start = #""start":"2024-03-15T07:30:05+01:00""#
        let good = #"{"type":"weight","value":72.3,"unit":"kg",\#(start),"key":"a"}"#
        for (text, fault) in [(good, nil), (#"{"type":"weight","value":72.3,"unit":"kg",\#(start)}"#, "valid")] {
            let python = try ChildProcess(
                try Tool.python(with: "jsonschema"), [program, Documents.schemas + "/record-given.json"],
                input: FileHandle(forReadingAtPath: try folder.write(text + "\n", to: "lines")))
            let result = await python.result()
            #expect(result.code == (fault == nil ? 0 : 1), "\(result.errors)")
            #expect(fault.map(result.output.contains) ?? result.output.isEmpty, "\(result.output)")
        }
    }
}
