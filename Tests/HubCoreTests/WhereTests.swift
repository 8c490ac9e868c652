import HubSettings
import Testing

@testable import HubCore

/// Queries with `where` at the door (§8.1.1): names, units and grants.
@Suite(.timeLimit(.minutes(1))) struct WhereTests {
    private static let records = [
        weight("a", 70), weight("b", 90),
        #"{"type":"weight","value":198.5,"unit":"lb","start":"2024-03-15T07:30:05Z","key":"pounds"}"#,
        #"{"type":"height","value":180,"unit":"cm","start":"2024-03-15T07:30:05Z","key":"h"}"#,
        #"{"type":"bloodGlucose","value":6,"unit":"mmol/L","start":"2024-03-15T07:30:05Z","key":"glucose"}"#,
        #"{"type":"sleepAnalysis","value":"asleepCore","start":"2024-03-15T01:00:00Z","end":"2024-03-15T02:00:00Z","key":"s"}"#,
        #"{"type":"workout","value":"running","start":"2024-03-15T01:00:00Z","end":"2024-03-15T01:30:00Z","key":"run","group":"g"}"#,
        #"{"type":"activeEnergyBurned","value":300,"unit":"kcal","start":"2024-03-15T01:00:00Z","key":"energy","group":"g","metadata":{"wasUserEntered":true}}"#,
    ]

    @Test(arguments: [
        (#"{"quantity":{">":80,"unit":"kg"}}"#, ["b", "pounds"]),
        (#"{"quantity":{"=":198.5,"unit":"lb"}}"#, ["pounds"]), (#"{"quantity":{">":1,"unit":"m"}}"#, ["h"]),
        (#"{"quantity":{">=":6,"unit":"mmol/L"}}"#, ["glucose"]),
        (#"{"and":[{"type":["bodyMass"]},{"not":{"quantity":{">":80,"unit":"kg"}}}]}"#, ["a"]),
        (#"{"category":["asleepCore"]}"#, ["s"]), (#"{"category":[3]}"#, ["s"]),
        (#"{"activity":["running"]}"#, ["run"]),
        (#"{"duration":{">=":0.5,"unit":"hr"}}"#, ["run", "s"]),
        (#"{"total":{"type":"activeEnergyBurned",">":1000,"unit":"kJ"}}"#, ["energy", "run"]),
        (#"{"partOf":"workout"}"#, ["energy"]), (#"{"partOf":7}"#, ["energy"]), (#"{"userEntered":true}"#, ["energy"]),
        (#"{"time":{"to":"2024-03-15T01:30:00Z","strict":["end"]}}"#, ["energy"]),
        (
            #"{"source":{"plugin":"kitchen-script","device":null}}"#,
            ["a", "b", "energy", "glucose", "h", "pounds", "run", "s"]
        ),
    ])
    func `R8.81 each expression selects its expected records`(expression: String, expected: [String]) async throws {
        try await withHub { hub, peer in
            #expect(try await peer.give(Self.records).results.allSatisfy { $0 == "stored" })
            for order in ["sequence", "time", "-time"] {
                let found = try await peer.all(#""order":"\#(order)","limit":9,"where":\#(expression)"#).records
                #expect(found.compactMap { $0["key"].string }.sorted() == expected, "\(order)")
            }
        }
    }

    @Test(arguments: [
        (#""where":{"type":["wieght"]}"#, #"QUERY.where.type: no type "wieght"; did you mean "weight"?"#),
        (
            #""where":{"and":[{"userEntered":true},{"quantity":{">":1,"unit":"kgs"}}]}"#,
            "QUERY.where.and[1].quantity.unit: "
        ),
        (
            #""types":["heartRate"],"where":{"quantity":{">":1,"unit":"kg"}}"#,
            "fits none of the types: heartRate is in count/min"
        ),
        (
            #""types":["sleepAnalysis"],"where":{"quantity":{">":1,"unit":"kg"}}"#,
            "none of the asked types is a quantity"
        ),
        (#""types":["weight"],"where":{"quantity":{">":1e308,"unit":"Tg"}}"#, "out of range"),
        (#""types":["sleepAnalysis"],"where":{"category":["asleepCoer"]}"#, #"did you mean "asleepCore"?"#),
        (#""types":["sleepAnalysis"],"where":{"category":[77]}"#, "no value 77 of sleepAnalysis; it has"),
        (#""where":{"activity":["runing"]}"#, #"did you mean "running"?"#),
        (#""where":{"activity":[-9007199254740993]}"#, "no activity"),
        (#""where":{"duration":{">":1,"unit":"kg"}}"#, "is not a unit of time"),
        (#""where":{"total":{"type":"sleepAnalysis",">":1,"unit":"kg"}}"#, "is not a type of quantities"),
        (#""where":{"total":{"type":"stepCount",">":1,"unit":"kg"}}"#, "does not convert to count"),
        (#""where":{"metadata":{"name":"a",">":1,"unit":"furlong"}}"#, "QUERY.where.metadata.unit: "),
        (#""where":{"not":{"not":7}}"#, "QUERY.where.not.not: expected an object"),
    ])
    func `R8.82 an unknown name or unit in where is refused with the fitting ones`(question: String, reason: String)
        async throws
    {
        try await withHub { hub, peer in
            let answer = try await peer.query(question)
            #expect(answer.verb == "ERROR" && answer.body["code"].string == "field")
            #expect(answer.body["reason"].string?.contains(reason) == true, "\(answer.body["reason"])")
        }
    }

    @Test
    func `R8.130 R8.131 a query with where and since returns new records and those that no longer match`()
        async throws
    {
        try await withHub { hub, peer in
            _ = try await peer.give([weight("a", 90), weight("b", 95), weight("c", 60)])
            let heavy = #""types":["weight"],"where":{"quantity":{">":80,"unit":"kg"}}"#
            let first = try await peer.all(heavy)
            #expect(first.records.compactMap { $0["key"].string } == ["a", "b"])
            let anchor = first.cursor
            _ = try await peer.give([weight("a", 70), weight("d", 99), weight("e", 50)])
            let answer = try await peer.all(heavy + #","since":"\#(anchor)","limit":9"#)
            #expect(answer.records.compactMap { $0["key"].string } == ["a", "d"])
            #expect(answer.records[0]["kind"].string == "retraction" && answer.records[0]["number"].int == 1)
            #expect(answer.records[0]["reason"].string == "does not meet the query now")
            // A page with one of two changes. Its cursor continues with the other.
            let one = try await peer.query(heavy + #","since":"\#(anchor)","limit":1"#)
            #expect(one.body["records"].array.count == 1)
            let next = try #require(one.body["cursor"].string)
            let rest = try await peer.all(heavy + #","since":"\#(next)""#)
            #expect(rest.records.compactMap { $0["key"].string } == ["d"])

            let group = try await peer.query(#""since":"\#(anchor)","where":{"partOf":1}"#)
            #expect(group.body["code"].string == "query")
        }
    }

    @Test func `R8.133 a correlation is found by its members, with a separate expression for each type`() async throws {
        try await withGrants([
            ("reader", ["bloodPressureSystolic", "bloodPressureDiastolic"], nil),
            ("narrow", ["bloodPressureSystolic"], nil),
        ]) { hub, owner in
            func pressure(_ key: String, _ systolic: Int, _ diastolic: Int) -> [String] {
                let rest = #""start":"2024-03-15T07:30:05Z","group":"\#(key)""#
                return [
                    #"{"type":"bloodPressure","key":"\#(key)",\#(rest)}"#,
                    #"{"type":"bloodPressureSystolic","value":\#(systolic),"unit":"mmHg","key":"\#(key)-s",\#(rest)}"#,
                    #"{"type":"bloodPressureDiastolic","value":\#(diastolic),"unit":"mmHg","key":"\#(key)-d",\#(rest)}"#,
                ]
            }
            let given = try await owner.give(pressure("x", 150, 70) + pressure("y", 150, 95) + pressure("z", 110, 95))
            #expect(given.results.allSatisfy { $0 == "stored" })
            let systolic = #""bloodPressureSystolic":{"quantity":{">":140,"unit":"mmHg"}}"#
            let diastolic = #""bloodPressureDiastolic":{"quantity":{">":12,"unit":"kPa"}}"#
            func keys(_ peer: Peer, _ contains: String) async throws -> [String] {
                try await peer.all(#""where":{"contains":{\#(contains)}}"#).records.compactMap { $0["key"].string }
            }
            #expect(try await keys(owner, systolic) == ["x", "y"])
            #expect(try await keys(owner, diastolic) == ["y", "z"])
            #expect(try await keys(owner, systolic + "," + diastolic) == ["y"])
            #expect(try await keys(owner, #""weight":{"not":{"key":["none"]}}"#) == [])
            let wrong = try await owner.query(
                #""where":{"contains":{"bloodPressureSystolic":{"quantity":{">":1,"unit":"kg"}}}}"#)
            #expect(
                wrong.body["reason"].string?.contains("QUERY.where.contains.bloodPressureSystolic.quantity.unit")
                    == true)

            // Unreadable records count as missing.
            for (name, found) in [("reader", ["x", "y"]), ("narrow", [])] {
                let door = try await hub.plugin(name, mode: "once")
                #expect(try await keys(door, systolic) == found)
                await door.close()
            }
        }
    }

    @Test func `R8.84 where is refused for retractions`() async throws {
        try await withHub { hub, peer in
            let answer = try await peer.query(#""kinds":["retraction"],"where":{"userEntered":true}"#)
            #expect(answer.body["code"].string == "query")
        }
    }

    @Test func `R8.83 where reveals nothing about records that the session may not read`() async throws {
        try await withGrants([
            ("reader", ["workout", "heartRate"], nil), ("members", ["activeEnergyBurned"], nil),
        ]) { hub, owner async throws in
            #expect(try await owner.give(Self.records).results.allSatisfy { $0 == "stored" })
            func keys(_ instance: String, _ expression: String) async throws -> [String] {
                let door = try await hub.plugin(instance, mode: "once")
                defer { Task { await door.close() } }
                return try await door.all(#""where":\#(expression)"#).records.compactMap { $0["key"].string }
            }
            let total = #"{"total":{"type":"activeEnergyBurned",">":1,"unit":"kcal"}}"#
            #expect(try await keys("reader", total) == [])
            #expect(try await keys("reader", #"{"not":\#(total)}"#) == ["run"])
            #expect(try await keys("members", #"{"partOf":"workout"}"#) == [])
            #expect(try await keys("members", #"{"partOf":7}"#) == [])
            #expect(try await keys("members", total) == ["energy"])
        }
    }

    @Test func `R8.85 R8.86 records can be ordered by end and by two keys, and the latest of each type queried`()
        async throws
    {
        try await withHub { hub, peer in
            func steps(_ key: String, _ start: String, _ end: String) -> String {
                #"{"type":"stepCount","value":1,"unit":"count","start":"2024-03-15T\#(start)Z","end":"2024-03-15T\#(end)Z","key":"\#(key)"}"#
            }
            _ = try await peer.give([
                steps("night", "01:00:00", "09:00:00"), steps("short", "02:00:00", "03:00:00"),
                steps("long", "02:00:00", "04:00:00"), weight("w1"),
                #"{"type":"weight","value":70,"unit":"kg","start":"2024-03-10T07:30:05Z","key":"w0"}"#,
            ])
            func keys(_ question: String) async throws -> [String] {
                try await peer.all(question).records.compactMap { $0["key"].string }
            }
            let steps = #""types":["stepCount"]"#
            #expect(try await keys(steps + #","order":"-end""#) == ["night", "long", "short"])
            #expect(try await keys(steps + #","order":"end","limit":2"#) == ["short", "long"])
            #expect(try await keys(steps + #","order":["-time","-end"]"#) == ["long", "short", "night"])
            #expect(try await keys(#""latest":true"#).sorted() == ["night", "w1"])
            #expect(try await keys(#""latest":true,"to":"2024-03-12T00:00:00Z""#) == ["w0"])
            for (question, code) in [
                (#""order":["time","-time"]"#, "field"), (#""order":["sequence","end"]"#, "field"),
                (#""order":[]"#, "field"),
                (#""latest":true,"order":"time""#, "query"), (#""latest":true,"kinds":["day"]"#, "query"),
                (#""latest":1"#, "field"),
            ] {
                #expect(try await peer.query(question).body["code"].string == code, "\(question)")
            }
        }
    }

    @Test func `R8.87 R8.7 sources are listed only for records that the session may read`() async throws {
        try await withGrants([("reader", ["workout"], nil)]) { hub, owner in
            #expect(try await owner.give(Self.records).results.allSatisfy { $0 == "stored" })
            func sources(_ peer: Peer, _ more: String = "") async throws -> [JSON] {
                try await peer.query(more, want: "sources").body["sources"]["sources"].array
            }
            let all = try await sources(owner)
            #expect(all.map { $0["type"].string ?? "" } == all.map { $0["type"].string ?? "" }.sorted())
            #expect(all.compactMap { $0["count"].int }.reduce(0, +) == Self.records.count)
            let sleep = try #require(try await sources(owner, #""types":["sleepAnalysis"]"#).first)
            #expect(sleep["source"]["plugin"].string == "kitchen-script" && sleep["count"].int == 1)
            #expect(sleep["first"].string == "2024-03-15T01:00:00Z" && sleep["last"].string == "2024-03-15T02:00:00Z")
            #expect(try await sources(owner, #""where":{"quantity":{">":80,"unit":"kg"}}"#).first?["count"].int == 2)
            let door = try await hub.plugin("reader", mode: "once")
            #expect(try await sources(door).compactMap { $0["type"].string } == ["workout"])
            for wrong in [#""order":"time""#, #""limit":5"#, #""kinds":["retraction"]"#] {
                #expect(try await owner.query(wrong, want: "sources").body["code"].string == "query", "\(wrong)")
            }
        }
    }
}
