import Foundation
import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCore

/// A plugin that may read only recent history (R8.121).
@Suite struct HistoryLimitTests {
    private static func setting(_ limit: HistoryLimit) throws -> Setting {
        var setting = try Setting.withTokens(["chart"])
        setting.plugins[0].grants.history = limit
        setting.manifests["chart"] = Manifest(name: "chart", summary: "", version: "1", reads: ["*"], writes: ["*"])
        setting.clock = .simulated(start: try Timestamp(parsing: "2026-03-15T12:00:00Z"), rate: 1)
        return setting
    }

    private static func weight(_ key: String, _ value: Int, _ start: String, end: String? = nil) -> String {
        let end = end.map { #","end":"\#($0)""# } ?? ""
        return #"{"type":"weight","value":\#(value),"unit":"kg","start":"\#(start)","key":"\#(key)"\#(end)}"#
    }

    private static func values(_ records: [JSON]) -> [Double] { records.compactMap { $0["value"].double }.sorted() }

    @Test(arguments: [HistoryLimit.since(LocalDate("2026-03-10") ?? LocalDate(daysSinceEpoch: 0)), .days(5)])
    func `R8.121 records older than the limit are invisible to the plugin in every query`(
        limit: HistoryLimit
    ) async throws {
        try await withHub(try Self.setting(limit)) { hub in
            let owner = try await hub.client("phone")
            let given = try await owner.give([
                Self.weight("old", 70, "2026-03-01T07:00:00Z"), Self.weight("new", 72, "2026-03-14T07:00:00Z"),
                Self.weight("long", 71, "2026-03-01T00:00:00Z", end: "2026-03-12T00:00:00Z"),
            ])
            #expect(given.results.allSatisfy { $0 == "stored" })
            let chart = try await hub.plugin("chart")
            for question in [
                "", #""order":"time""#, #""order":"-end""#, #""from":"2020-01-01T00:00:00Z""#, #""numbers":[1,2,3]"#,
            ] {
                #expect(Self.values(try await chart.all(question).records) == [71, 72], "\(question)")
            }
            #expect(try await owner.all().records.count == 3)
            let sources = try await chart.query("", want: "sources").body["sources"]["sources"].array
            #expect(sources.compactMap { $0["count"].int } == [2])
            let row = try await chart.query(
                #""types":["weight"],"figures":["minimum","maximum"]"#, want: "statistics"
            ).body["statistics"]["intervals"][0]
            #expect(row["maximum"].double == 72 && row["minimum"].double != 70, "\(row)")
            #expect(try await chart.give([Self.weight("mine", 60, "2026-02-01T07:00:00Z")]).results == ["stored"])
            let all = try await chart.all()
            #expect(Self.values(all.records) == [71, 72], "the instance sees its own record too")
            // Changes and retractions of older records are not reported either.
            let gone = #"{"kind":"retraction","key":"old"}"#
            for change in [Self.weight("old", 69, "2026-03-01T07:00:00Z"), gone] {
                #expect(try await owner.give([change]).results == ["stored"])
                let changes = try await chart.all(#""since":"\#(all.cursor)""#).records
                #expect(changes.isEmpty, "\(changes)")
            }
        }
    }

    @Test func `R8.121 a record that overlaps the limit is visible completely, for strict and in statistics`()
        async throws
    {
        try await withHub(try Self.setting(.days(5))) { hub in
            let owner = try await hub.client("phone")
            func steps(_ key: String, _ value: Int, _ start: String, _ end: String) -> String {
                #"{"type":"stepCount","value":\#(value),"unit":"count","start":"\#(start)","end":"\#(end)","key":"\#(key)"}"#
            }
            let given = try await owner.give([
                steps("old", 1_000, "2026-03-01T07:00:00Z", "2026-03-02T07:00:00Z"),
                steps("over", 2_000, "2026-03-08T00:00:00Z", "2026-03-12T00:00:00Z"),
                steps("new", 4_000, "2026-03-14T07:00:00Z", "2026-03-14T08:00:00Z"),
            ])
            #expect(given.results.allSatisfy { $0 == "stored" })
            let chart = try await hub.plugin("chart")
            for question in [#""order":"time""#, #""order":"-end""#, #""since":"EPOCH-0""#] {
                for (strict, from) in [
                    (#","strict":["start"]"#, #","from":"2026-03-01T00:00:00Z""#), (#","strict":["start"]"#, ""),
                    (#","strict":["start","end"],"to":"2026-04-01T00:00:00Z""#, #","from":"2026-03-01T00:00:00Z""#),
                ] {
                    let epoch = try await chart.query("").body["cursor"].string?.prefix(8) ?? ""
                    let members = question.replacing("EPOCH", with: epoch) + strict + from
                    #expect(Self.values(try await chart.all(members).records) == [2_000, 4_000], "\(members)")
                }
            }
            let late = #""order":"time","strict":["start"],"from":"2026-03-09T00:00:00Z""#
            #expect(Self.values(try await chart.all(late).records) == [4_000])
            let all = try await chart.query(#""types":["stepCount"]"#, want: "statistics").body["statistics"]
            #expect(all["intervals"][0]["from"].string == "2026-03-08T00:00:00Z", "\(all)")
            #expect(all["intervals"][0]["sum"].double == 6_000, "\(all)")
            let days = try await chart.query(
                #""types":["stepCount"],"from":"2026-03-01T00:00:00Z","interval":{"unit":"day","zone":"UTC"}"#,
                want: "statistics"
            ).body["statistics"]["intervals"].array
            #expect(days.map { $0["sum"].double } == [500, 500, 500, 500, nil, nil, 4_000], "\(days)")
        }
    }

    @Test func `R8.121 neither the feed nor deliveries contain older records`() async throws {
        try await withHub(try Self.setting(.days(5))) { hub in
            let listener = try await GrantTests.listener(hub, "chart", ["sample/weight/"])
            let (owner, chart) = (try await hub.client("phone"), try await hub.plugin("chart"))
            _ = try await owner.give([Self.weight("old", 70, "2026-03-01T07:00:00Z")])
            _ = try await owner.give([Self.weight("new", 72, "2026-03-14T07:00:00Z")])
            var heard = try await listener.next()
            while heard.topic == "hub/pulse/" { heard = try await listener.next() }
            #expect(heard.record["value"].double == 72)
            await chart.say("WANT", #"{"want":"w","start":"beginning","types":["weight"],\#(Peer.credit)}"#)
            var message = try await chart.next()
            while message.verb != "DELIVER" { message = try await chart.next() }
            #expect(Self.values(message.body["records"].array).contains(70) == false, "\(message)")
            #expect(Self.values(message.body["records"].array).contains(72), "\(message)")
            let sinks = try await owner.status()["sinks"].array
            #expect(sinks.first?["skips"]["it is older than it may read"].int ?? 0 >= 1, "\(sinks)")
        }
    }
}
