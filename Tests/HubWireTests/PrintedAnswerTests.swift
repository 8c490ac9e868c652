import HubWire
import Samples
import Testing

/// Faults in the output of a plugin's program, as reported to its author.
@Suite struct PrintedAnswerTests {
    private static func read(_ text: String) throws(PrintedAnswer.InvalidAnswer) -> Manifest {
        try PrintedAnswer(Array(text.utf8)).read(Manifest.self)
    }

    private static func manifest(_ members: String) -> String {
        #"{"name":"kitchen","summary":"A scale.","version":"1","# + members + "}"
    }

    @Test(arguments: [
        ("", "it printed nothing"), ("  \n", "it printed nothing"),
        (
            "Usage: kitchen [-v]\n",
            #"it printed no JSON ("Usage: kitchen [-v]"): at byte 0 expected a value; one JSON object is expected"#
        ),
        (#"{"name":"#, "at byte 8 the text ends too early"),
        (#"{"name":"kitchen"} done"#, "at byte 19 expected the end of the text"),
        ("[]", "it printed an array instead of one JSON object"),
        ("7", "it printed 7 instead of one JSON object"),
        (#"{"name":"kitchen","version":"1"}"#, "summary: missing, and needed; expected a string"),
        (#"{"name":7,"summary":"s","version":"1"}"#, "name: expected a string, found 7"),
        (manifest(#""protocol":["1"]"#), #"protocol[0]: expected an integer, found "1""#),
        (manifest(#""protocol":1"#), "protocol: expected an array, found 1"),
        (manifest(#""protocol":[1.5]"#), "protocol[0]: expected an integer, found 1.5"),
        (manifest(#""writes":"weight""#), #"writes: expected an array, found "weight""#),
        (manifest(#""writes":["weight",null]"#), "writes[1]: expected a string, found null"),
        (manifest(#""settings":{}"#), "settings: expected an array, found an object"),
        (
            manifest(#""settings":[{"name":"a","type":"string","help":"A."},{"name":"b","type":"string"}]"#),
            "settings[1].help: missing, and needed; expected a string"
        ),
        (
            manifest(#""settings":[{"name":"a","type":"text","help":"A."}]"#),
            #"settings[0].type: expected one of "string", "integer", "number", "boolean", "duration", "size", "choice", "path", "url", "#
                + #""timeZone", "date", "timeOfDay", "list", found "text""#
        ),
        (
            manifest(#""settings":[{"name":"a","type":"choice","help":"A."}]"#),
            "settings[0].choices: missing, and needed; expected an array of strings"
        ),
        (
            manifest(#""declares":[{"id":"x.a.b","kind":"amount"}]"#),
            #"declares[0].kind: expected one of "quantity""#
        ),
        (
            manifest(#""commands":[{"name":"a","help":"A.","dryRun":1}]"#),
            "commands[0].dryRun: expected true or false, found 1"
        ),
        (manifest(#""sink":{"batchRecords":"many"}"#), #"sink.batchRecords: expected an integer, found "many""#),
        (manifest(#""checksSettings":"yes""#), #"checksSettings: expected true or false, found "yes""#),
    ])
    func `R13.5 the fault of an invalid manifest names the member, the found and the expected value`(
        _ text: String, _ words: String
    ) throws {
        let fault = try #require(throws: PrintedAnswer.InvalidAnswer.self) { try Self.read(text) }
        #expect(fault.description.contains(words), "\(fault)")
    }

    @Test func `R13.6 unknown members are ignored, at every depth`() throws {
        let text = Self.manifest(
            #""later":{"a":1},"settings":[{"name":"a","type":"integer","help":"A.","unit":"s","default":5}],"sink":{"speed":1}"#
        )
        let manifest = try Self.read(text)
        #expect(manifest.settings == [SettingDeclaration("a", .integer(), help: "A.", default: .integer(5))])
        #expect(manifest.sink == SinkAbilities() && manifest.faults.isEmpty)
    }

    @Test(arguments: [
        (
            #""writes":["wieght"]"#,
            #"writes[0]: there is no type "wieght" in the registry or in declares; did you mean weight?"#
        ),
        (
            #""reads":["weight","stepCuont"]"#,
            #"reads[1]: there is no type "stepCuont" in the registry or in declares; did you mean stepCount?"#
        ),
        (
            #""writes":["x.kitchen.flour"]"#,
            #"writes[0]: there is no type "x.kitchen.flour" in the registry or in declares"#
        ),
        (#""protocol":[2]"#, "protocol: expected a version that this hub speaks, which is 1, found [2]"),
        (#""protocol":[]"#, "protocol: expected a version that this hub speaks, which is 1, found []"),
        (#""declares":[{"id":"x.kitchen.flour","kind":"quantity"}]"#, "declares[0]: "),
    ])
    func `R13.7 a manifest with unknown types or unsupported versions has a fault for it`(
        _ members: String, _ words: String
    ) throws {
        let manifest = try Self.read(Self.manifest(members))
        #expect(manifest.faults.count == 1 && manifest.faults[0].hasPrefix(words), "\(manifest.faults)")
    }

    @Test(arguments: ["hub", "hand"]) func `a plugin cannot have one of the hub's own names`(_ name: String) {
        let manifest = Manifest(name: name, summary: "A scale.", version: "1")
        #expect(manifest.faults == ["name: \"\(name)\" is reserved for the hub; choose another"])
    }

    @Test(arguments: [
        #""reads":["*"],"writes":["*"]"#, #""reads":["bodyMass","x.other.glow"]"#, #""writes":["x.kitchen.*"]"#,
        #""writes":["HKQuantityTypeIdentifierSomethingNew"]"#, #""protocol":[2,1]"#,
        #""writes":["x.kitchen.flour"],"declares":[{"id":"x.kitchen.flour","kind":"quantity","unit":"kg","aggregation":"discreteArithmetic"}]"#,
    ])
    func `R13.7 registered types by any name, declared types, patterns and other vendors' types are valid`(
        _ members: String
    ) throws {
        #expect(try Self.read(Self.manifest(members)).faults == [])
    }
}
