import JSON
import Samples
import Testing

@testable import HubWire

/// The members that the code reads and writes are exactly those that the schemas list.
@Suite struct SchemaMemberTests {
    /// The schemas of message bodies and of the objects in them, by the type in the code.
    private static let bodies: [String: [String]] = [
        "Hello": ["client/HELLO.json"], "TypeDeclaration": ["declaration.json"], "Welcome": ["hub/WELCOME.json"],
        "Grants": ["hub/WELCOME.json#/properties/grants"], "Grants.Scope": ["hub/WELCOME.json#/$defs/scope"],
        "Limits": ["hub/WELCOME.json#/$defs/limits"], "Heartbeat": ["hub/WELCOME.json#/properties/heartbeat"],
        "Credit": ["common.json#/$defs/credit"], "Welcome.PersonEntry": ["hub/WELCOME.json#/$defs/person"],
        "Welcome.SourceOrder": ["hub/WELCOME.json#/$defs/person/properties/priority/items"],
        "PersonProfile": ["hub/WELCOME.json#/$defs/profile"], "SamplesEnvelope": ["client/SAMPLES.json"],
        "Stored": ["hub/STORED.json"], "RecordResult": ["hub/STORED.json#/$defs/result"],
        "StatisticsInterval": ["client/QUERY.json#/$defs/interval"], "WantRequest": ["client/WANT.json"],
        "WantRequest.SinkAccepts": ["client/WANT.json#/properties/takes"], "WantAnswer": ["hub/WANT.json"],
        "Delivery": ["hub/DELIVER.json"], "DeliveryReport": ["client/DONE.json"],
        "DeliveryResult": ["client/DONE.json#/$defs/result"],
        "CommandProgress": ["client/PROGRESS.json", "hub/PROGRESS.json"],
        "CommandOutcome": ["client/OUTCOME.json", "hub/OUTCOME.json"], "TokenRequest": ["client/TOKEN.json"],
        "TokenAnswer": ["hub/TOKEN.json"], "TokenPut": ["client/TOKEN-PUT.json"], "Stop": ["hub/STOP.json"],
        "Bye": ["client/BYE.json", "hub/BYE.json"], "WireError": ["hub/ERROR.json"],
        "CommandRequest": ["client/COMMAND.json"],
        "SubjectObject": ["client/LIVE.json#/properties/subject"],
    ]

    @Test func `R3.4 R3.5 schemas list exactly the members of each body that the code reads and writes`() throws {
        let source = try SourceMembers("Contract/HubWire", except: ["Commands", "Imports"])
        for (type, addresses) in Self.bodies {
            for address in addresses {
                #expect(source.mentioned(by: type) == Set(try Documents.members(address)), "\(type): \(address)")
            }
        }
        // These types name their members differently, or read them in several places. They are checked below.
        let others: Set = ["QueryRequest", "QueryRequest.Filter", "QueryResult", "UnitsByType"]
        #expect(source.types(conformingTo: ["BodyCoding"]) == Set(Self.bodies.keys).union(others))

        let query = ["QueryRequest", "QueryRequest.Filter", "QueryRequest.Order"].map(source.mentioned)
        #expect(query.reduce(into: []) { $0.formUnion($1) } == Set(try Documents.members("client/QUERY.json")))
        let answers = QueryRequest.Subject.allCases.map(\.rawValue)
        #expect(source.mentioned(by: "QueryResult").union(answers) == Set(try Documents.members("hub/RESULT.json")))
        #expect(
            Set(try Documents.members("hub/COMMAND.json")).union(["instance"])
                == Set(try Documents.members("client/COMMAND.json")))
        for (type, verb, inner) in [("LiveValue", "LIVE", []), ("DeviceEvent", "EVENT", ["percent", "low"])] {
            #expect(source.mentioned(by: type).subtracting(inner) == Set(try Documents.members("client/\(verb).json")))
        }
        #expect(
            Set(try Documents.members("feed.json#/$defs/live"))
                == Set(try Documents.members("client/LIVE.json")).union(["person", "source", "time"]))
        #expect(
            Set(try Documents.members("feed.json#/$defs/event"))
                == Set(try Documents.members("client/EVENT.json")).union(["instance", "source", "time"]))
    }

    @Test func `each verb has a schema for each side that sends it`() throws {
        let names = Set(try Documents.schemaNames())
        #expect(Set(Verb.fromClient.map { "client/\($0.rawValue).json" }) == names.filter { $0.hasPrefix("client/") })
        let onlyOfClients = ["HELLO", "SAMPLES", "LIVE", "EVENT", "DONE", "QUERY", "TOKEN-PUT"]
        let ofHub = Verb.allCases.map(\.rawValue).filter { !onlyOfClients.contains($0) }
        #expect(Set(ofHub.map { "hub/\($0).json" }) == names.filter { $0.hasPrefix("hub/") })
        let listed = try #require(try Documents.part("asyncapi.json#/components/messages")?.members).map(\.name)
        #expect(
            Set(listed.filter { !$0.hasPrefix("feed-") })
                == Set(
                    names.filter { $0.contains(/^(client|hub)\//) }.map {
                        $0.replacing("/", with: "-").replacing(".json", with: "")
                    }))
    }

    @Test func `R6.7 R6.18 schemas list each member of a record in the order in which the hub writes them`() throws {
        func names(_ members: RecordMembers) -> Set<String> {
            Set(RecordMember.allCases.filter(members.contains).map(\.name))
        }
        let parts = Set(Sample.partNames)
        let given = RecordMembers.sample.subtracting(.reserved)
        #expect(
            Set(try Documents.members("record-given.json#/$defs/sample"))
                == names(given).subtracting(["person"]).union(parts))
        #expect(Set(try Documents.members("record-given.json#/$defs/day")) == names(.day.subtracting(.reserved)))
        #expect(
            Set(try Documents.members("record-given.json#/$defs/retraction"))
                == names(.retraction.subtracting(.reserved)).subtracting(["by"]))
        let printed = ["sample": RecordMembers.sample, "day": .day, "retraction": .retraction]
        for (kind, members) in printed {
            var expected = names(members).subtracting(["payload"])
            if kind == "sample" { expected.formUnion(parts) }
            if kind == "retraction" { expected.remove("original") }
            #expect(Set(try Documents.members("record.json#/$defs/\(kind)")) == expected, "\(kind)")
        }
        for vector in try Documents.vectors() {
            guard let text = (vector["text"] ?? vector["out"])?.text, let record = JSONTree(Array(text.utf8))?.members,
                record.contains(where: { $0.name == "seq" })
            else { continue }
            let kind = record.first?.value.text ?? ""
            let order = try Documents.members("record.json#/$defs/\(printed[kind] == nil ? "sample" : kind)")
            let places = record.compactMap { order.firstIndex(of: $0.name) }
            #expect(places.count == record.count && places == places.sorted(), "\(text)")
        }
    }

    @Test func `R13.5 R13.6 the manifest schema lists exactly the members that the code reads`() throws {
        // AnswerMemberTests compares the status.
        let wire = try SourceMembers("Contract/HubWire", except: ["Commands", "Imports", "Settings", "Status"])
        let settings = try SourceMembers("Contract/HubWire/Settings")
        let printed = [
            "Manifest": "manifest.json", "CommandDeclaration": "manifest.json#/$defs/command",
            "SinkAbilities": "manifest.json#/$defs/sink", "SettingsVerdict": "objections.json",
            "Objection": "objections.json#/$defs/objection", "DayUse": "objections.json#/$defs/dayUse",
            "KeyFile": "key-file.json",
            "TypeDeclaration": "declaration.json", "Pulse": "feed.json#/$defs/pulse",
            "SourcesPage": "answers/sources.json", "SourceTally": "answers/sources.json#/$defs/tally",
            "Origin": "common.json#/$defs/source", "StatisticsPage": "answers/statistics.json",
            "LogPage": "answers/logs.json", "LogLine": "answers/logs.json#/$defs/line",
            "Thinned": "answers/statistics.json#/$defs/thinned", "Reading": "answers/statistics.json#/$defs/reading",
        ]
        for (type, address) in printed {
            #expect(wire.keys(of: type) == Set(try Documents.members(address)), "\(type): \(address)")
        }
        // An interval and a single source have their figures beside their own members.
        for (type, name) in [("Interval", "interval"), ("Part", "part")] {
            let known = wire.keys(of: type).union(wire.keys(of: "Figures"))
            #expect(known == Set(try Documents.members("answers/statistics.json#/$defs/\(name)")))
        }
        #expect(
            wire.types(conformingTo: ["Codable", "Decodable", "Encodable"])
                == Set(printed.keys).union(["Interval", "Part", "Figures", "StatisticsFigure"])
                // Answers of the plugin http-ingest.
                .union(["IngestToken", "NewIngestToken"]))
        let declared = settings.keys(of: "SettingDeclaration").union(settings.keys(of: "SettingType"))
        #expect(declared == Set(try Documents.members("setting.json")))
    }

    @Test func `R8.36 the schema lists each member of where`() throws {
        let expression = "where.json#/$defs/expression"
        #expect(try Documents.members(expression) == ConditionReader.words)
        for facet in QueryRequest.Condition.Facet.allCases {
            #expect(try Documents.members("\(expression)/properties/\(facet.rawValue)") == facet.properties)
        }
        let relations = Set(Relation.allCases.map(\.rawValue))
        for (name, others) in [
            ("compared", ["unit"]), ("total", ["type", "unit"]), ("metadata", ["name", "in", "unit"]),
        ] {
            #expect(Set(try Documents.members("where.json#/$defs/\(name)")) == relations.union(others))
        }
    }
}
