import Foundation
import HubSettings
import HubWire
import Testing

@testable import HubCore

/// A plugin that asks to read everything but may not read heart rates.
///
/// It sees its own as if there were no others (R8.120).
@Suite struct PermissionTests {
    private static func setting(_ read: [String]) throws -> Setting {
        var setting = try Setting.withTokens(["watch"])
        setting.plugins[0].grants.read = read
        setting.manifests["watch"] = Manifest(name: "watch", summary: "", version: "1", reads: ["*"], writes: ["*"])
        return setting
    }

    /// Opens a session of the plugin's process.
    private static func watch(_ hub: RunningHub) async throws -> (peer: Peer, welcome: JSON) {
        let options = Peer.Options(user: "watch", password: try await hub.token(of: "watch"))
        let peer = try await Peer.dealer(hub.hub.endpoints.pluginDoor, options)
        return (peer, try await peer.hello("watch"))
    }

    private static func pulse(_ key: String, _ value: Int, hour: Int, _ more: String = "") -> String {
        #"{"type":"heartRate","value":\#(value),"unit":"count/min","start":"2024-03-15T0\#(hour):00:00Z","key":"\#(key)"\#(more)}"#
    }

    /// The answers to all kinds of queries, each as values or numbers that reveal how many records there are.
    private static func answers(_ peer: Peer) async throws -> [String: [Double]] {
        func values(_ records: [JSON]) -> [Double] { records.compactMap { $0["value"].double } }
        var found: [String: [Double]] = [:]
        for (name, question) in [
            ("sequence", ""), ("time", #""order":"time""#), ("end", #""order":"-end""#),
            ("since", #""since":"EPOCH-0""#), ("numbers", #""numbers":[1,2,3,4,5,6,7,8]"#),
            ("latest", #""latest":true"#), ("group", #""group":"run""#),
            ("partOf", #""where":{"partOf":"workout"}"#),
            (
                "total",
                #""where":{"and":[{"type":["workout"]},{"total":{"type":"heartRate",">":1,"unit":"count/min"}}]}"#
            ),
        ] {
            let epoch = try await peer.query("").body["cursor"].string?.prefix(8) ?? ""
            let members = question.replacing("EPOCH", with: epoch)
            let records = try await peer.all(members).records
            let hearts = records.filter { $0["type"].string == "heartRate" }
            found[name] = name == "total" ? [Double(records.count)] : values(hearts)
        }
        let sources = try await peer.query(#""types":["heartRate"]"#, want: "sources").body["sources"]["sources"].array
        found["sources"] = sources.compactMap { $0["count"].double }
        let statistics = try await peer.query(
            #""types":["heartRate"],"figures":["average","maximum"]"#, want: "statistics"
        ).body["statistics"]["intervals"].array
        found["statistics"] = statistics.compactMap { $0["maximum"].double }
        return found
    }

    private static func give(_ hub: RunningHub) async throws {
        let owner = try await hub.client("phone")
        let workout =
            #"{"type":"workout","value":"running","start":"2024-03-15T01:00:00Z","end":"2024-03-15T02:00:00Z","key":"w","group":"run"}"#
        let answer = try await owner.give([
            pulse("a", 61, hour: 1, #","group":"run""#), pulse("b", 62, hour: 3), workout, weight("c"),
        ])
        #expect(answer.results.allSatisfy { $0 == "stored" }, "\(answer)")
    }

    @Test(arguments: [["*", "!heartRate"], ["weight", "workout"]])
    func `R8.120 R4.60 a plugin finds its own records of a type it may not read, and no trace of others`(
        read: [String]
    ) async throws {
        try await withHub(try Self.setting(read)) { hub in
            try await Self.give(hub)
            let (watch, welcome) = try await Self.watch(hub)
            #expect(
                welcome["grants"]["read"]["types"] == JSON(#"["*"]"#),
                "WELCOME has the types that it asks for, not those that it may read")
            var found = try await Self.answers(watch)
            for (question, values) in found {
                #expect(values == (question == "total" ? [0] : []), "\(question): \(values)")
            }
            #expect(try await watch.all(#""types":["weight"]"#).records.count == 1)
            #expect(try await watch.give([Self.pulse("own", 80, hour: 2)]).results == ["stored"])
            found = try await Self.answers(watch)
            for (question, values) in found {
                let expected: [Double] =
                    switch question {
                    case "total": [0]
                    case "group", "partOf": []
                    case "sources": [1]
                    default: [80]
                    }
                #expect(values == expected, "\(question): \(values)")
            }
        }
    }

    @Test func `R8.150 statistics of a plugin's own samples have no next page if only others have later ones`()
        async throws
    {
        var setting = try Self.setting(["*", "!heartRate"])
        setting.policy.limits.pageRecords = 3
        try await withHub(setting) { hub in
            let (watch, _) = try await Self.watch(hub)
            /// The number of intervals on the first page, and whether it is the last page.
            func page() async throws -> (rows: Int, isLast: Bool) {
                let statistics = try await watch.query(
                    #""types":["heartRate"],"interval":{"unit":"hour","zone":"UTC"}"#, want: "statistics"
                ).body["statistics"]
                return (statistics["intervals"].array.count, statistics["next"].string == nil)
            }
            #expect(
                try await watch.give([Self.pulse("a", 80, hour: 2), Self.pulse("b", 81, hour: 4)]).results
                    == ["stored", "stored"])
            #expect(try await page() == (3, true))
            _ = try await hub.client("phone").give([Self.pulse("c", 60, hour: 1), Self.pulse("d", 61, hour: 9)])
            #expect(try await page() == (3, true), "only another instance has a later record")
            #expect(try await watch.give([Self.pulse("e", 82, hour: 8)]).results == ["stored"])
            #expect(try await page() == (3, false), "the instance has a later record itself")
        }
    }

    @Test func `R8.151 the rank of a plugin's own sources of such a type does not reveal others`() async throws {
        var ranks: [[Int64]] = []
        for isAlone in [true, false] {
            var setting = try Self.setting(["*", "!heartRate"])
            if !isAlone {
                setting.priorities = [
                    PrioritySection(name: "all", sources: ["phone", "watch/wrist", "scale", "watch"])
                ]
            } else {
                setting.priorities = [PrioritySection(name: "all", sources: ["watch/wrist", "watch"])]
            }
            try await withHub(setting) { hub in
                if !isAlone { try await Self.give(hub) }
                let (watch, _) = try await Self.watch(hub)
                let wrist = #","source":{"device":"wrist"}"#
                let given = try await watch.give([
                    Self.pulse("own", 80, hour: 2), Self.pulse("device", 81, hour: 3, wrist),
                ])
                #expect(given.results == ["stored", "stored"])
                let sources = try await watch.query(#""types":["heartRate"]"#, want: "sources").body["sources"][
                    "sources"
                ].array
                ranks.append(sources.map { $0["rank"].int ?? -1 })
            }
        }
        #expect(ranks[0] == ranks[1] && ranks[0].count == 2, "\(ranks)")
        #expect(ranks[0][1] < ranks[0][0], "hub.conf names watch/wrist before watch")
    }

    @Test
    func `R8.120 a follower gets a retraction when a sample moves to an unreadable type, and no more of it`()
        async throws
    {
        try await withHub(try Self.setting(["*", "!heartRate"])) { hub in
            let owner = try await hub.client("phone")
            _ = try await owner.give([weight("k")])
            let (watch, _) = try await Self.watch(hub)
            let before = try await watch.all()
            #expect(before.records.count == 1)
            _ = try await owner.give([Self.pulse("k", 60, hour: 1)])
            let after = try await watch.all(#""since":"\#(before.cursor)""#)
            #expect(after.records.map { $0["kind"].string } == ["retraction"], "\(after.records)")
            #expect(after.records[0]["type"].string == "weight" && after.records[0]["key"].string == "k")
            _ = try await owner.give([weight("k", 71)])
            let back = try await watch.all(#""since":"\#(after.cursor)""#)
            #expect(back.records.map { $0["type"].string } == ["weight"], "\(back.records)")
        }
    }

    @Test func `R8.120 R7.7 a feed has a plugin's own records of such a type, and no trace of others`()
        async throws
    {
        try await withHub(try Self.setting(["*", "!heartRate"])) { hub in
            let listener = try await GrantTests.listener(hub, "watch", ["sample/heartRate/", "live/heartRate/"])
            let (watch, _) = try await Self.watch(hub)
            let owner = try await hub.client("phone")
            _ = try await owner.give([Self.pulse("theirs", 61, hour: 1)])
            await owner.say("LIVE", #"{"type":"heartRate","value":62,"unit":"count/min"}"#)
            #expect(try await owner.ask("PING").verb == "PONG")
            await watch.say("LIVE", #"{"type":"heartRate","value":81,"unit":"count/min"}"#)
            #expect(try await watch.give([Self.pulse("own", 80, hour: 2)]).results == ["stored"])
            var heard: [Double] = []
            while heard.count < 2 {
                let message = try await listener.next()
                if message.topic != "hub/pulse/" { heard.append(try #require(message.record["value"].double)) }
            }
            #expect(heard == [81, 80])
            #expect(try await watch.ask("PING").verb == "PONG", "no ERROR came before the PONG")
        }
    }

    @Test func `R8.120 R10.10 a sink gets only readable records, and asking for more is not refused`() async throws {
        try await withHub(try Self.setting(["*", "!heartRate"])) { hub in
            try await Self.give(hub)
            let (watch, _) = try await Self.watch(hub)
            for (types, pending) in [
                (#""types":["heartRate"],"#, 0), (#""types":["heartRate","weight"],"#, 1), ("", 2),
            ] {
                let answer = try await watch.ask(
                    "WANT", #"{"want":"w\#(pending)","start":"beginning",\#(types)\#(Peer.credit)}"#)
                #expect(answer.verb == "WANT" && answer.body["pending"].int == Int64(pending), "\(types) \(answer)")
                for _ in 0..<pending {
                    var message = try await watch.next()
                    while message.verb != "DELIVER" { message = try await watch.next() }
                    #expect(message.body["records"].array.allSatisfy { $0["type"].string != "heartRate" })
                    if message.body["records"].array.count == pending { break }
                }
            }
        }
    }

    @Test func `R4.60 R6.16 R8.161 WELCOME lists the types that a plugin may share: granted, denied or not determined`()
        async throws
    {
        var setting = try Self.setting(["*"])
        setting.plugins[0].grants.write = ["weight", "!heartRate"]
        setting.plugins[0].grants.history = .days(30)
        try await withHub(setting) { hub in
            let (watch, welcome) = try await Self.watch(hub)
            #expect(welcome["grants"]["write"]["types"] == JSON(#"["weight"]"#))
            #expect(welcome["grants"]["write"]["denied"] == JSON(#"["heartRate"]"#))
            let steps = #"{"type":"stepCount","value":1,"unit":"count","start":"2024-03-15T07:30:05Z","key":"s"}"#
            let answer = try await watch.give([weight("a"), Self.pulse("b", 60, hour: 1), steps])
            #expect(answer.results == ["stored", "forbidden", "forbidden"])
            let owner = try await hub.client("asker")
            let plugin = try await owner.query("", want: "plugins").body["plugins"][0]
            #expect(plugin["history"].string == "of the last 30 days")
            let permissions = plugin["permissions"].array
            #expect(
                permissions.map { "\($0["type"].string ?? "") \($0["read"].string ?? "") \($0["share"].string ?? "")" }
                    == [
                        "* granted notDetermined", "heartRate granted denied", "weight granted granted",
                    ])
        }
    }

    @Test func `R4.61 a blood pressure may be read if both its values may be`() async throws {
        let group = #""start":"2024-03-15T07:30:05Z","group":"g""#
        let records = [
            #"{"type":"bloodPressure","key":"p",\#(group)}"#,
            #"{"type":"bloodPressureSystolic","value":120,"unit":"mmHg","key":"s",\#(group)}"#,
            #"{"type":"bloodPressureDiastolic","value":80,"unit":"mmHg","key":"d",\#(group)}"#,
        ]
        for (read, types) in [
            (["bloodPressureSystolic", "bloodPressureDiastolic"], 3), (["bloodPressureSystolic"], 1),
            (["*", "!bloodPressureDiastolic"], 1), (["*"], 3),
        ] {
            try await withHub(try Self.setting(read)) { hub in
                #expect(try await hub.client("phone").give(records).results.allSatisfy { $0 == "stored" })
                let (watch, _) = try await Self.watch(hub)
                #expect(try await watch.all().records.count == types, "\(read)")
            }
        }
    }
}
