import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire
import Samples
import Testing

@testable import HubCommand

/// `--where` of `hub samples`.
@Suite struct WhereArgumentTests {
    @Test(arguments: [
        ("value > 80kg", #"{"quantity":{">":80,"unit":"kg"}}"#),
        ("value<=12st 8 lb", #"{"quantity":{"<=":176,"unit":"lb"}}"#),
        ("value = 18.2%", #"{"quantity":{"=":0.182,"unit":"%"}}"#),
        ("duration >= 30min", #"{"duration":{">=":30,"unit":"min"}}"#),
        ("total activeEnergyBurned > 300 kcal", #"{"total":{"type":"activeEnergyBurned",">":300,"unit":"kcal"}}"#),
        ("category asleepCore, 5", #"{"category":["asleepCore",5]}"#),
        ("activity running", #"{"activity":["running"]}"#), ("userEntered", #"{"userEntered":true}"#),
        ("partOf workout", #"{"partOf":"workout"}"#), ("partOf 17", #"{"partOf":17}"#),
        (
            "contains bloodPressureSystolic (value > 140mmHg) and contains bloodPressureDiastolic",
            #"{"and":[{"contains":{"bloodPressureSystolic":{"quantity":{">":140,"unit":"mmHg"}}}},{"contains":{"bloodPressureDiastolic":{"type":["bloodPressureDiastolic"]}}}]}"#
        ),
        ("type weight,height", #"{"type":["weight","height"]}"#), ("number 1, 2", #"{"number":[1,2]}"#),
        (#"key "a b""#, #"{"key":["a b"]}"#), ("metadata foodType", #"{"metadata":{"name":"foodType"}}"#),
        ("metadata a != 5", #"{"metadata":{"name":"a","!=":5}}"#),
        ("metadata a = '5'", #"{"metadata":{"name":"a","=":"5"}}"#),
        (#"metadata a in 1, two, "true", true"#, #"{"metadata":{"name":"a","in":[1,"two","true",true]}}"#),
        (
            "metadata t > 21.5 degC and userEntered",
            #"{"and":[{"metadata":{"name":"t",">":21.5,"unit":"degC"}},{"userEntered":true}]}"#
        ),
        ("metadata t > 21degC", #"{"metadata":{"name":"t",">":21,"unit":"degC"}}"#),
        (
            #"device.name = "Watch" and not source.device = none"#,
            #"{"and":[{"device":{"name":"Watch"}},{"not":{"source":{"device":null}}}]}"#
        ),
        ("revision.version != 9.1", #"{"not":{"revision":{"version":"9.1"}}}"#),
        (
            "userEntered or userEntered and not (partOf 1 or partOf 2)",
            #"{"or":[{"userEntered":true},{"and":[{"userEntered":true},{"not":{"or":[{"partOf":1},{"partOf":2}]}}]}]}"#
        ),
    ]) func `conditions are parsed as people write them`(text: String, expected: String) throws {
        #expect(try WhereArgument.condition(text, of: []).json.text == expected)
    }

    @Test func `the unit may be omitted if the query has one type with one unit`() throws {
        #expect(
            try WhereArgument.condition("value > 100", of: ["heartRate"]).json.text
                == #"{"quantity":{">":100,"unit":"count/min"}}"#)
    }

    @Test(arguments: [
        ("", "expected one of value duration"), ("value", "expected one of > >="),
        ("value > ", "such as 80kg after >, it ends there"), ("value > 80", "80 of what?"),
        ("value > 80furlongs", "there is no unit"), ("valu > 80kg", "did you mean value?"),
        ("value => 80kg", "=> is none of > >="),
        ("userEntered userEntered", "expected and, or, or the end after userEntered"),
        ("(userEntered", "expected and, or, or ) after userEntered, it ends there"),
        ("metadata a = \"x", "is not closed"), ("device.colour = red", "device has no colour; it has name"),
        ("device.name > x", "expected = or !="), ("partOf sleep", "expected correlation, workout or a number"),
        ("number x", "is not a record's number"), (String(repeating: "(", count: 100_000), "nested more than"),
        (String(repeating: "not ", count: 100_000), "nested more than"),
    ])
    func `an invalid condition is refused with the words that are expected there`(text: String, hint: String) throws {
        let failure = try #require(throws: Failure.self) { try WhereArgument.condition(text, of: []) }
        #expect(failure.exit == .usage && failure.message.contains(hint), "\(failure.message)")
    }

    @Test func `the query of hub samples contains where, order and latest`() throws {
        func query(_ words: String...) throws -> QueryRequest {
            let command = try #require(try RootCommand.parseAsRoot(["samples", "weight"] + words) as? SamplesCommand)
            return try command.query(["weight"], by: PersonClock(zone: "GMT", now: 0))
        }
        #expect(try query("--where", "value > 80kg").filter.condition == .quantity(over: 80, "kg"))
        #expect(try query("--order", "-end").order == .by([.latestEnd]))
        #expect(try query("--order", "time,-end").order == .by([.time, .latestEnd]))
        let latest = try query("--latest")
        #expect(latest.isLatest && latest.order == nil)
        for wrong in [
            ["--latest", "--last", "1"], ["--order", "time,-time"], ["--retracted", "--where", "userEntered"],
        ] { #expect(throws: (any Error).self) { try RootCommand.parseAsRoot(["samples"] + wrong) } }
    }

    @Test func `hub sources adds up pages and lists the preferred source of each type and person first`() {
        func tally(
            _ device: String, _ count: Int64, _ first: String, _ last: String, rank: Int64?, type: String = "weight"
        ) -> SourceTally {
            SourceTally(
                type: type, person: rank == nil ? nil : "anna", personId: rank == nil ? nil : "1",
                source: .init(plugin: "scale", device: device), count: count, first: first, last: last, rank: rank)
        }
        let (one, two) = ("2026-03-01T23:30:00Z", "2026-03-02T00:00:00Z")
        var found = SourcesPage(sources: [tally("a", 1, one, one, rank: 7)], next: "more")
        found.add(
            SourcesPage(
                sources: [
                    tally("a", 1, "2026-03-01T23:30:00.5Z", "2026-03-04T00:00:00Z", rank: 7),
                    tally("b", 3, two, two, rank: 4), tally("c", 1, two, two, rank: nil),
                ], next: nil))
        #expect(found.next == nil && found.sources.count == 3)
        let ordered = SourcesCommand.ordered(found.sources)
        #expect(
            SourcesCommand.lines(ordered, SourceRankReason([]), ReadingUnits([], household: .gmt)) == [
                "TYPE    PERSON  ORDER  SOURCE   RECORDS  FIRST       LAST        ORDER BY",
                "weight  -              scale/c        1  2026-03-02  2026-03-02",
                "weight  anna        1  scale/b        3  2026-03-02  2026-03-02  first record",
                "weight  anna        2  scale/a        2  2026-03-01  2026-03-04  first record",
            ])
        // Weights are not summed: no source replaces another.
        #expect(SourcesCommand.advice(ordered) == nil)
        let steps = ["d", "e"].map { tally($0, 1, one, two, rank: 3, type: "stepCount") }
        #expect(SourcesCommand.advice(steps)?.contains("[priority.NAME] of hub.conf") == true)
        #expect(SourcesCommand.advice(Array(steps.prefix(1))) == nil)
    }
}
