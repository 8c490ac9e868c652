import HubSettings
import HubWire
import Testing

@testable import HubCore

/// The records that a filter selects, in QUERY and in WANT (§8.1, §10.1).
@Suite(.timeLimit(.minutes(1))) struct FilterTests {
    private static let records = [
        weight("a"), #"{"type":"height","value":1.8,"unit":"m","start":"2024-03-15T07:30:05Z","key":"h"}"#,
        #"{"type":"sleepAnalysis","value":"awake","start":"2024-03-15T07:30:05Z","key":"s"}"#,
        day("2024-03-15", "mean"), day("2024-03-16", "carried", #","observedOn":"2024-03-15","age":1"#),
    ]
    private static let retractions = [
        #"{"kind":"retraction","key":"s"}"#,
        #"{"kind":"retraction","type":"weight","person":"me","series":"mean30","date":"2024-03-15"}"#,
    ]

    private static func day(_ date: String, _ method: String, _ more: String = "") -> String {
        #"{"kind":"day","type":"weight","value":70,"unit":"kg","series":"mean30","date":"\#(date)","method":"\#(method)","basis":[],"person":"me"\#(more)}"#
    }

    /// The key or date of each record, with a `-` prefix for a retraction.
    private static func names(_ records: some Sequence<JSON>) -> Set<String> {
        Set(
            records.map { record in
                (record["kind"].string == "retraction" ? "-" : "")
                    + (record["key"].string ?? record["date"].string ?? "?")
            })
    }

    @Test(arguments: [
        ("", ["a", "h", "-s"], ["a", "h"]), (#","types":["weight"]"#, ["a"], ["a"]),
        (#","kinds":["quantity"]"#, ["a", "h"], ["a", "h"]), (#","kinds":["category"]"#, ["-s"], []),
        (#","kinds":["day"]"#, ["2024-03-16", "-2024-03-15"], ["2024-03-16"]),
        (#","types":["weight"],"kinds":["quantity","day"]"#, ["a", "2024-03-16", "-2024-03-15"], ["a", "2024-03-16"]),
        (#","kinds":["retraction"]"#, ["-s", "-2024-03-15"], ["-s", "-2024-03-15"]),
        (#","kinds":["retraction","quantity"]"#, ["a", "h", "-s", "-2024-03-15"], ["a", "h", "-s", "-2024-03-15"]),
    ])
    func `R8.35 kinds select the same records in QUERY and WANT, and days only if they are named`(
        filter: String, followed: [String], now: [String]
    ) async throws {
        try await withHub { hub in
            let source = try await hub.client("gap-filler")
            let sink = try await hub.client("files")
            try await sink.want("all", "now", filter)
            var delivered: [Int64: JSON] = [:]
            func give(_ records: [String]) async throws {
                #expect(try await source.give(records).results.allSatisfy { $0 == "stored" })
                try await eventually("all is delivered") {
                    while let delivery = await sink.nextIfAny(within: .milliseconds(20)) {
                        for record in delivery.body["records"].array { delivered[record["number"].int ?? 0] = record }
                        await sink.deliver(delivery)
                    }
                    return try await hub.sink("files/all")["pending"].int == 0
                }
            }
            try await give(Self.records)
            try await give(Self.retractions)
            #expect(Self.names(delivered.values) == Set(followed))
            let owner = try await hub.peer()
            let epoch = try #require(try await owner.hello("owner")["epoch"].string)
            #expect(Self.names(try await owner.all(#""since":"\#(epoch)-0""# + filter).records) == Set(followed))
            for order in ["sequence", "time", "-time"] {
                #expect(
                    Self.names(try await owner.all(#""order":"\#(order)""# + filter).records) == Set(now), "\(order)")
            }
        }
    }

    @Test func `R8.35 a follower of one kind learns that a record has another kind now`() async throws {
        try await withHub { hub in
            let peer = try await hub.peer()
            let epoch = try #require(try await peer.hello()["epoch"].string)
            _ = try await peer.give([weight("a"), weight("b")])
            let nap = #"{"type":"sleepAnalysis","value":"awake","start":"2024-03-15T07:30:05+01:00","key":"a"}"#
            #expect(try await peer.give([nap]).results == ["stored"])
            func follow(_ kind: String) async throws -> Set<String> {
                Self.names(try await peer.all(#""since":"\#(epoch)-0","kinds":["\#(kind)"]"#).records)
            }
            #expect(try await follow("quantity") == ["-a", "b"])
            #expect(try await follow("category") == ["a"])
            #expect(try await follow("workout") == [])
            #expect(try await follow("day") == [])
        }
    }

    @Test func `R8.37 a person that the session may not read is answered like one that does not exist`() async throws {
        let folder = try Folder()
        var setting = Setting.household
        setting.plugins = [PluginInstance(name: "narrow", persons: .only(["me"]))]
        try await withHub(setting, in: folder) { hub in
            _ = try await hub.client().give([weight("mine", 70, #","subject":{"name":"you"}"#)])
            let narrow = try await hub.client("narrow")
            let owner = try await hub.client("owner")
            for (peer, names) in [(narrow, ["you", "he"]), (owner, ["he"])] {
                var reasons: Set<String> = []
                for name in names {
                    for persons in [#"["\#(name)"]"#, #"["me","\#(name)"]"#] {
                        let question = try await peer.query(#""persons":\#(persons)"#)
                        let want = try await peer.want("x", "now", #","persons":\#(persons)"#)
                        for (answer, verb) in [(question, "QUERY"), (want, "WANT")] {
                            #expect(answer.code == "field" && answer.body["closed"].truth == false, "\(answer)")
                            reasons.insert(
                                (answer.body["reason"].string ?? "")
                                    .replacing("\"\(name)\"", with: "…").replacing(verb, with: "…"))
                        }
                    }
                }
                #expect(reasons.count == 1, "\(reasons)")
            }
            #expect(try await owner.all(#""persons":["you"]"#).records.count == 1)
            #expect(try await owner.query(#""persons":["me"],"nobody":true"#).code == "query")
            for answer in [
                try await owner.query(#""types":["wieght"]"#),
                try await owner.want("x", "now", #","types":["wieght"]"#),
            ] {
                #expect(answer.code == "field", "\(answer)")
                #expect(answer.body["reason"].string?.contains("did you mean \"weight\"?") == true, "\(answer)")
            }
        }
        setting.persons = ["me"]
        try await withHub(setting, in: folder) { hub in
            let owner = try await hub.client("owner")
            #expect(
                try await owner.all(#""persons":["you"]"#).records.count == 1, "that person's stored records remain")
            #expect(try await owner.want("x", "beginning", #","persons":["you"]"#).verb == "WANT")
            #expect(try await owner.delivery().keys == ["mine"])
        }
    }

    @Test func `R8.5 in time order only the last page has a cursor, from which later changes follow`()
        async throws
    {
        try await withHub { hub, peer in
            _ = try await peer.give((0..<1_000).map { weight("k\($0)") })
            _ = try await peer.give((1_000..<1_200).map { weight("k\($0)") })
            let first = try await peer.query(#""order":"time""#)
            let next = try #require(first.body["next"].string)
            #expect(first.body["cursor"] == .null)
            _ = try await peer.give([weight("later")])
            let last = try await peer.query(#""order":"time","next":"\#(next)""#)
            let cursor = try #require(last.body["cursor"].string)
            #expect(try await peer.all(#""since":"\#(cursor)""#).records.map { $0["key"].string } == ["later"])
            let newest = try await peer.query(#""order":"-time","limit":3"#)
            #expect(newest.body["records"].array.count == 3 && newest.body["next"] == .null)
            let end = try #require(newest.body["cursor"].string)
            #expect(try await peer.all(#""since":"\#(end)""#).records.isEmpty)
        }
    }
}
