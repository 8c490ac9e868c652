import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCore

/// Queries for statistics (§8.4).
@Suite(.timeLimit(.minutes(1))) struct StatisticsTests {
    private static func steps(_ key: String, _ value: Int, _ start: String, _ end: String, _ more: String = "")
        -> String
    {
        #"{"type":"stepCount","value":\#(value),"unit":"count","start":"\#(start)","end":"\#(end)","key":"\#(key)"\#(more)}"#
    }

    private static let walk = [
        steps("a", 600, "2026-03-28T08:00:00+01:00", "2026-03-28T08:10:00+01:00"),
        steps("b", 200, "2026-03-28T23:50:00+01:00", "2026-03-29T00:10:00+01:00"),
        steps("c", 90, "2026-03-31T10:00:00+02:00", "2026-03-31T10:00:00+02:00"),
    ]

    private static let byDay = #""types":["stepCount"],"interval":{"unit":"day","zone":"Europe/Berlin"}"#

    @Test func `R8.50 R8.51 days are adjacent, including 23-hour ones, empty ones are null, and sources are merged`()
        async throws
    {
        try await withHub { hub in
            let watch = try await hub.client("watch")
            #expect(try await watch.give(Self.walk).results.allSatisfy { $0 == "stored" })
            let phone = try await hub.client("phone")
            _ = try await phone.give([
                Self.steps("p", 500, "2026-03-28T08:05:00+01:00", "2026-03-28T08:15:00+01:00")
            ])
            let answer = try await watch.query(
                Self.byDay + #","figures":["sum","duration","mostRecent","bySource"]"#, want: "statistics"
            ).body["statistics"]
            #expect(answer["type"].string == "stepCount" && answer["unit"].string == "count")
            #expect(answer["person"].string == "me" && answer["next"] == .null)
            let days = answer["intervals"].array
            #expect(
                days.map { $0["from"].string?.prefix(16) } == [
                    "2026-03-28T00:00", "2026-03-29T00:00", "2026-03-30T00:00", "2026-03-31T00:00",
                ])
            #expect(days[1]["from"].string == "2026-03-29T00:00:00+01:00")
            #expect(days[1]["to"].string == "2026-03-30T00:00:00+02:00" && days[2]["from"] == days[1]["to"])
            #expect(days.map { $0["sum"].double } == [600 + 250 + 100, 100, nil, 90])
            #expect(days[2]["sum"] == .null && days[2]["duration"] == .null && days[2]["mostRecent"] == .null)
            #expect(days.map { $0["count"].int } == [3, 0, 0, 1])
            #expect(days[0]["duration"].double == 15 * 60 + 10 * 60 && days[3]["duration"].double == 0)
            #expect(days[0]["mostRecent"]["value"].double == 200)
            #expect(days[0]["sources"].array.map { $0["source"]["plugin"].string } == ["watch", "phone"])
            #expect(days[0]["sources"].array.map { $0["sum"].double } == [700, 500])
        }
    }

    @Test func `R8.52 pages of any size add up to the same intervals, and a limit counts intervals`() async throws {
        try await withHub { hub, peer in
            _ = try await peer.give(Self.walk)
            let whole = try await peer.query(Self.byDay, want: "statistics").body["statistics"]["intervals"].array
            var (rows, next): ([JSON], String?) = ([], nil)
            repeat {
                let mark = next.map { #","next":"\#($0)""# } ?? ""
                let page = try await peer.query(Self.byDay + #","limit":3"# + mark, want: "statistics").body[
                    "statistics"]
                rows += page["intervals"].array
                next = page["next"].string
            } while next != nil
            #expect(rows == Array(whole.prefix(3)))
            let hours = try await peer.query(
                #""types":["stepCount"],"interval":{"unit":"hour"},"from":"2026-03-28T08:05:00Z""#, want: "statistics")
            #expect(hours.body["statistics"]["intervals"].array.count == 59)
            for mark in ["x", "1", "2:1774652400000001", "9:0"] {
                let refused = try await peer.query(Self.byDay + #","limit":3,"next":"\#(mark)""#, want: "statistics")
                #expect(refused.body["code"].string == "cursor", "\(mark)")
            }
        }
    }

    @Test(arguments: [
        (
            #""types":["stepCount"],"figures":["average"]"#,
            "QUERY.figures: average of stepCount, which is added up; it has sum"
        ),
        (#""types":["weight"],"figures":["sum"]"#, "it has average, minimum, maximum"),
        (#""types":["weight"],"figures":["median"]"#, "no figure \"median\"; there are: average"),
        (#""types":["weight","height"]"#, "statistics are of one type"), ("", "statistics are of one type"),
        (#""types":["sleepAnalysis"]"#, "sleepAnalysis has no number in its values"),
        (#""types":["wieght"]"#, "did you mean \"weight\"?"),
        (#""types":["weight"],"persons":["me","you"]"#, "no person \"you\" here"),
        (#""types":["weight"],"kinds":["day"]"#, "there is no member \"kinds\""),
        (#""types":["weight"],"interval":{"unit":"decade"}"#, "QUERY.interval.unit"),
        (#""types":["weight"],"interval":{"unit":"day","every":0}"#, "QUERY.interval.every"),
        (#""types":["weight"],"interval":{"unit":"day","zone":"Mars/Olympus"}"#, "no zone \"Mars/Olympus\""),
        (#""types":["weight"],"interval":{"unit":"day","begin":1}"#, "there is no member \"begin\""),
    ])
    func `R8.50 an invalid query is refused with the valid options`(question: String, reason: String) async throws {
        try await withHub { hub, peer in
            let answer = try await peer.query(question, want: "statistics")
            #expect(answer.verb == "ERROR" && answer.body["code"].string == "field")
            #expect(answer.body["reason"].string?.contains(reason) == true, "\(answer.body["reason"].string ?? "")")
            let records = try await peer.query(#""figures":["sum"]"#)
            #expect(records.body["reason"].string?.contains("QUERY.figures") == true)
        }
    }

    @Test func `R8.53 records that are retracted, unassigned or unreadable do not count`() async throws {
        try await withHub { hub, peer in
            _ = try await peer.give([weight("a", 80), weight("b", 90), weight("c", 7_000)])
            func average() async throws -> JSON {
                try await peer.query(#""types":["bodyMass"]"#, want: "statistics").body["statistics"]["intervals"]
            }
            #expect(try await average().array.first?["average"].double == 85)
            _ = try await peer.give([#"{"kind":"retraction","key":"b"}"#])
            #expect(try await average().array.first?["average"].double == 80)
            _ = try await peer.give([#"{"kind":"retraction","key":"a"}"#])
            #expect(try await average().array.isEmpty)
        }
    }

    @Test func `R8.53 a program gets statistics of readable records, and cannot tell whether there are more`()
        async throws
    {
        try await withGrants([("reader", ["weight"], ["me"])]) { hub, owner in
            let mine = #","subject":{"name":"me"}"#
            _ = try await owner.give([
                weight("a", 70, mine), weight("b", 90, #","subject":{"name":"anna"}"#),
                Self.steps("s", 5, "2026-03-28T08:00:00Z", "2026-03-28T08:10:00Z", mine),
            ])
            let reader = try await hub.plugin("reader", mode: "once")
            let weights = try await reader.query(#""types":["weight"]"#, want: "statistics").body["statistics"]
            #expect(weights["intervals"].array.map { $0["count"].int } == [1] && weights["person"].string == "me")
            let steps = try await reader.query(#""types":["stepCount"]"#, want: "statistics").body["statistics"]
            #expect(steps["intervals"] == JSON("[]"))
            let other = try await reader.query(#""types":["weight"],"persons":["anna"]"#, want: "statistics")
            let none = try await reader.query(#""types":["weight"],"persons":["who"]"#, want: "statistics")
            #expect(other.body["code"].string == "field")
            #expect(other.body["reason"].string == none.body["reason"].string?.replacing("who", with: "anna"))
            let status = try await reader.query("", want: "status")
            #expect(status.body["code"].string == "forbidden")
        }
    }

    @Test func `the first order in hub.conf that fits type and person decides which source counts`() async throws {
        var setting = Setting()
        setting.priorities = [
            PrioritySection(name: "others", types: [.weight], sources: ["phone"]),
            PrioritySection(name: "steps", types: [try TypeID("stepCount")], sources: ["phone/bag", "hand", "phone"]),
            PrioritySection(name: "late", sources: ["watch"]),
        ]
        try await withHub(setting) { hub in
            let watch = try await hub.client("watch")
            _ = try await watch.give([Self.walk[0]])
            let phone = try await hub.client("phone")
            let (begin, end) = ("2026-03-28T08:05:00+01:00", "2026-03-28T08:15:00+01:00")
            func sources() async throws -> [String] {
                let answer = try await watch.query(Self.byDay + #","figures":["sum","bySource"]"#, want: "statistics")
                let day = answer.body["statistics"]["intervals"][0]
                let names = day["sources"].array.compactMap {
                    $0["source"]["device"].string ?? $0["source"]["plugin"].string
                }
                return names + ["\(day["sum"].double ?? -1)"]
            }
            #expect(try await sources() == ["watch", "600.0"])
            _ = try await phone.give([Self.steps("p", 500, begin, end, #","source":{"device":"pocket"}"#)])
            #expect(try await sources() == ["pocket", "watch", "800.0"])
            _ = try await phone.give([Self.steps("q", 1_000, begin, end, #","source":{"device":"bag"}"#)])
            #expect(try await sources() == ["bag", "pocket", "watch", "1300.0"])
        }
    }

    @Test func `R8.110 R8.111 WELCOME has the order of sources, for sessions that may read them`()
        async throws
    {
        var setting = try GrantTests.setting([("reader", ["weight"], nil), ("writer", [], nil)])
        setting.priorities = [
            PrioritySection(
                name: "steps", types: [try TypeID("stepCount"), .weight], sources: ["phone/bag", "watch"]),
            PrioritySection(name: "other", persons: ["who"], sources: ["scale"]),
            PrioritySection(name: "all", sources: ["hand", "phone"]),
        ]
        try await withHub(setting) { hub in
            func order(_ welcome: JSON) -> [JSON] { welcome["persons"][0]["priority"].array }
            let owner = try await hub.peer()
            let all = order(try await owner.hello("kitchen-script"))
            #expect(
                all.map { $0["sources"].array.compactMap(\.string) } == [["phone/bag", "watch"], ["hand", "phone"]])
            #expect(all.map { $0["types"].array.compactMap(\.string) } == [["stepCount", "weight"], []])
            for (name, types) in [("reader", [["weight"], []]), ("writer", nil)] as [(String, [[String]]?)] {
                let door = try await Peer.dealer(
                    hub.hub.endpoints.pluginDoor, Peer.Options(user: name, password: try await hub.token(of: name)))
                let told = order(try await door.hello(name, mode: "once"))
                #expect(told.map { $0["types"].array.compactMap(\.string) } == types ?? [], "\(name)")
            }
            let (begin, end) = ("2026-03-28T08:05:00+01:00", "2026-03-28T08:15:00+01:00")
            for (plugin, device) in [("phone", "pocket"), ("watch", "wrist"), ("phone", "bag")] {
                let more = #","source":{"device":"\#(device)"},"subject":{"name":"anna"}"#
                _ = try await hub.client(plugin).give([Self.steps(device, 500, begin, end, more)])
            }
            let entries = try await owner.query(#""types":["stepCount"]"#, want: "sources").body["sources"]["sources"]
                .array
            let ranked = entries.sorted { $0["rank"].int ?? 0 < $1["rank"].int ?? 0 }
            #expect(ranked.map { $0["source"]["device"].string } == ["bag", "wrist", "pocket"])
            #expect(entries.allSatisfy { ($0["rank"].int ?? .max) < 1 << 53 })
        }
    }
}
