import JSON
import Testing

@testable import HubCore
@testable import HubWire
@testable import Samples

/// The limits and words in the schemas equal those of the code and the protocol.
@Suite struct SchemaLimitTests {
    @Test func `lengths and counts in the schemas equal those of the code`() throws {
        let sample = "record-given.json#/$defs/sample/properties"
        let limits: [(String, Int)] = [
            ("common.json#/$defs/givenKey/maxLength", RecordKey.maximumBytes),
            ("common.json#/$defs/key/maxLength", RecordKey.maximumBytes),
            ("common.json#/$defs/group/maxLength", RecordKey.maximumBytes),
            ("common.json#/$defs/text/maxLength", RecordScan.maximumName),
            ("common.json#/$defs/givenText/maxLength", RecordScan.maximumName),
            ("common.json#/$defs/typeID/maxLength", TypeID.maximumLength),
            ("common.json#/$defs/typeName/maxLength", TypeID.maximumLength),
            ("declaration.json#/properties/id/maxLength", TypeID.maximumLength),
            ("common.json#/$defs/count/maximum", Int(ObjectReader.safeIntegers.upperBound)),
            ("client/HELLO.json#/properties/version/maxLength", Hello.versionBytes),
            ("client/HELLO.json#/properties/reads/maxItems", Hello.types),
            ("client/HELLO.json#/properties/writes/maxItems", Hello.types),
            ("client/HELLO.json#/properties/reads/items/maxLength", Hello.typeBytes),
            ("client/HELLO.json#/properties/declares/maxItems", DeclaredTypes.boundOfInstance),
            ("manifest.json#/properties/declares/maxItems", DeclaredTypes.boundOfInstance),
            ("client/SAMPLES.json#/properties/records/maxItems", RecordDecoder.maximumBatchRecords),
            ("answers/logs.json#/properties/lines/maxItems", LogPage.maximumLines),
            ("hub/RESULT.json#/properties/records/maxItems", Limits().pageRecords),
            ("client/QUERY.json#/$defs/interval/properties/every/maximum", Int(StatisticsInterval.counts.upperBound)),
            ("client/COMMAND.json#/properties/deadline/maximum", Int(CommandRequest.deadlines.upperBound)),
            ("hub/COMMAND.json#/properties/deadline/maximum", Int(CommandRequest.deadlines.upperBound)),
            ("client/WANT.json#/properties/credit/properties/bytes/minimum", WantRequest.leastCreditBytes),
            ("client/TOKEN.json#/properties/reason/maxLength", TokenRequest.reasonBytes),
            ("where.json#/$defs/expression/properties/type/maxItems", QueryRequest.Condition.maximumItems),
            ("parts.json#/$defs/events/maxItems", WorkoutParts.most.events),
            ("parts.json#/$defs/totals/maxItems", WorkoutParts.most.totals),
            ("parts.json#/$defs/workout/properties/activities/maxItems", WorkoutParts.most.activities),
        ]
        for (address, limit) in limits { #expect(try Documents.schema(address).integer == limit, "\(address)") }
        #expect(try Documents.schema("\(sample)/payload/minimum").integer == 0)
        // These limits are described in words, because they count bytes or all lists together.
        let words: [(String, Int)] = [
            ("common.json#/$defs/metadata", JSONObject.maximumBytes),
            ("where.json", QueryRequest.Condition.maximumParts),
            ("where.json", QueryRequest.Condition.maximumDepth), ("where.json", QueryRequest.Condition.maximumItems),
            ("where.json", QueryRequest.Condition.maximumContained),
            ("client/TOKEN-PUT.json#/properties/token", TokenPut.tokenBytes),
            ("client/DONE.json#/$defs/result/oneOf", DeliveryResult.textBytes),
            ("client/PROGRESS.json#/properties/text", CommandRelay.progressText),
        ]
        for (address, limit) in words {
            let digits = String(String("\(limit)".reversed()).replacing(/(\d{3})(?=\d)/) { "\($0.1)," }.reversed())
            #expect(try Documents.schema(address).json.contains(digits), "\(address): \(digits)")
        }
    }

    @Test func `enumerated words in the schemas equal those of the code`() throws {
        func words<Word: CaseIterable & RawRepresentable>(_ type: Word.Type) -> [String] where Word.RawValue == String {
            type.allCases.map(\.rawValue)
        }
        let query = "client/QUERY.json#"
        let lists: [(String, [String])] = [
            ("common.json#/$defs/sampleKind", words(SampleKind.self)),
            ("common.json#/$defs/recordKind", words(RecordKind.self)),
            ("declaration.json#/properties/aggregation", words(AggregationStyle.self)),
            ("client/HELLO.json#/properties/mode", words(Hello.Mode.self)),
            ("answers/status.json#/$defs/session/properties/mode", words(Hello.Mode.self)),
            ("hub/WELCOME.json#/$defs/profile/properties/unit", words(PersonProfile.Unit.self)),
            ("hub/WELCOME.json#/$defs/profile/properties/sex", words(PersonProfile.Sex.self)),
            ("client/EVENT.json#/properties/severity", words(DeviceEvent.Severity.self)),
            ("\(query)/properties/want", words(QueryRequest.Subject.self)),
            ("\(query)/properties/strict/items", words(SpanEnd.self)),
            ("\(query)/$defs/interval/properties/unit", words(StatisticsInterval.Unit.self)),
            ("\(query)/properties/figures/items", words(StatisticsFigure.self) + ["bySource"]),
            ("client/TOKEN.json#/properties/for", words(TokenRequest.Purpose.self)),
            ("client/TOKEN.json#/properties/failure", words(TokenRequest.Failure.Kind.self)),
            ("setting.json#/properties/type", SettingType.names),
            ("setting.json#/properties/access", words(SettingAccess.self)),
            ("manifest.json#/properties/reaches/items", words(PluginReach.self)),
            ("answers/logs.json#/$defs/line/properties/level", LogLine.levels),
            ("answers/logs.json#/$defs/line/properties/from", words(LogLine.Origin.self)),
            ("manifest.json#/properties/settings/items/properties/name/not", SettingDeclaration.reservedNames),
            ("answers/plugin-status.json#/properties/state", words(InstanceState.self)),
            ("parts.json#/$defs/total/properties/statistic", words(WorkoutParts.Total.Statistic.self)),
        ]
        for (address, list) in lists {
            #expect(try Documents.schema(address)["enum"]?.list?.compactMap(\.text) == list, "\(address)")
        }
        #expect(
            try Documents.schema("\(query)/properties/order/anyOf").list?.first?["enum"]?.list?.compactMap(\.text)
                == ["sequence"] + words(SortKey.self))
        #expect(
            try Documents.schema("parts.json#/$defs/event/properties/type/enum").list?.compactMap(\.text)
                == WorkoutParts.Event.Kind.allCases.map { "\($0)" })
    }

    @Test func `codes in the schemas equal those of the code and the protocol's tables`() throws {
        let protocolText = try Documents.text("Protocol.md")
        func codes(_ name: String) throws -> Set<String> {
            Set(try Documents.schema("common.json#/$defs/\(name)/examples").list?.compactMap(\.text) ?? [])
        }
        let errors = try codes("errorCode")
        #expect(try SourceMembers("Contract/HubWire/WireError.swift").cases(of: "Word") == errors)
        let table = try #require(protocolText.split(separator: "### 9.1 ERROR").last?.split(separator: "### 9.2").first)
        var listed: Set<String> = []
        for row in table.split(separator: "\n").filter({ $0.hasPrefix("| `") }) {
            let cell = row.split(separator: "|")[0]
            for match in cell.matches(of: /`([a-z-]+)`/) { listed.insert(String(match.1)) }
        }
        #expect(listed == errors)

        let rejections = try codes("rejectionCode")
        #expect(try SourceMembers("Contract/HubWire/Records/RecordRejection.swift").mentioned(by: "Code") == rejections)
        let line = try #require(
            protocolText.split(separator: "### 9.2 Rejection of a record").last?.split(separator: "\n").first)
        #expect(Set(line.matches(of: /`([a-z]+)`/).map { String($0.1) }.filter { $0 != "reason" }) == rejections)
    }
}
