import HubSettings
import JSON
import PhonePayloads
import Platform
import PluginKit
import PluginTesting
import Samples
import Testing

@testable import HTTPIngest

/// The statuses of refused posts, and posts that name someone else.
@Suite(.timeLimit(.minutes(1)), .serialized) struct RefusalTests {
    private static let home = "1badcafe.a-secret-of-the-house"

    /// A phone of `me`, and a household's phone without a person.
    private func scene() async throws -> Scene {
        func hash(_ text: String) -> String { Digests.sha256(text.utf8).hexadecimal }
        return try await Scene(settings: [
            "tokens": .list([
                .string("phone:0badcafe:\(hash("a-secret-that-is-no-secret")):me"),
                .string("home:1badcafe:\(hash("a-secret-of-the-house"))"),
            ])
        ]) { $0.persons.append(.init(name: "ben")) }
    }

    private static func metric(_ name: String, _ units: String, _ points: String) -> String {
        #"{"data":{"metrics":[{"name":"\#(name)","units":"\#(units)","data":[\#(points)]}]}}"#
    }

    @Test
    func
        `A fully refused post is 422 for senders that read the status, and 200 for those that would repeat it for ever`()
        async throws
    {
        let scene = try await Scene()
        let (good, bad) = (#"{"date":"2026-11-20 07:00:00 +0100","qty":80}"#, #"{"date":"yesterday","qty":80}"#)
        let weight = #"{"kilograms":80,"time":"2026-11-20T05:00:00Z"}"#
        func hc(_ items: String) -> String { #"{"timestamp":"2026-11-20T09:00:00Z","weight":[\#(items)]}"# }
        try await scene.run { () async throws in
            let posts: [(String, String, Int)] = [
                ("hae", Self.metric("weight", "kg", bad), 422),
                ("hae", Self.metric("weight", "kg", bad + "," + good), 200),
                ("hae", Self.metric("weight", "kg", good), 200), ("hae", Self.metric("weight", "cm", good), 422),
                ("hae", Self.metric("new_metric", "kg", good), 200), ("hae", #"{"data":{}}"#, 200),
                ("hae", Self.metric("weight", "kg", ""), 200), ("hc-webhook", hc(#"{"kilograms":80}"#), 422),
                ("hc-webhook", hc(weight + #",{"kilograms":80}"#), 200), ("hc-webhook", hc(weight), 200),
                ("hc-webhook", hc(""), 200), ("plain", #"[{"weight":"heavy"},{"weight":"1,2,3"}]"#, 422),
                ("plain", #"[{"weight":"heavy"},{"weight":80.4,"start":"2026-11-20T07:00:00Z"}]"#, 200),
                ("plain", "[]", 200),
                ("openscale", #"{"event":"insert","userId":1,"date":"x","weight":80}"#, 200),
                ("ble-scale-sync", #"{"weight":"heavy"}"#, 200),
            ]
            for (place, body, status) in posts {
                let answer = try await scene.post("/ingest/\(place)", body)
                #expect(answer.status == status, "\(place) \(body): \(answer)")
                #expect(status == 200 || answer.json?["rejected"]?.list?.isEmpty == false)
            }
            let gateway = try await scene.post("/api/v2/sync/Weight", #"{"data":[{"weight":{"inKilograms":80}}]}"#)
            #expect(gateway.status == 200 && gateway.json?["report"]?["rejected"]?.list?.count == 1)
        }
    }

    @Test(
        arguments: [
            ("plain", #"[{"weight":80},{"weight":81,"subject":{"account":"ben"}}]"#, "/1/subject"),
            ("plain", #"{"weight":80,"subject":{"name":"ben"}}"#, "/subject"),
            ("plain", #"{"weight":80,"subject":{"slot":2}}"#, "/subject"),
            ("plain", #"{"weight":80,"subj\u0065ct":{"account":"ben"}}"#, "/subject"),
            ("plain", #"{"weight":80,"account":"ben"}"#, "/account"),
            ("plain", #"{"weight":80,"person":"ben"}"#, "/person"),
            ("plain", #"{"person":"ben","records":[{"weight":80}]}"#, "/person"),
            (
                "plain",
                #"{"kind":"retraction","type":"stepCount","series":"http-ingest:hc","date":"2026-11-20","person":"ben"}"#,
                "/person"
            ),
            ("ble-scale-sync", #"{"weight":80,"user_name":"Ben"}"#, "/user_name"),
            ("ble-scale-sync", #"{"weight":80,"user_name":"Ben K.","user_slug":"ben"}"#, "/user_slug"),
            (
                "ble-scale-lines",
                "{\"weight\":80,\"timestamp\":\"2026-11-20T07:00:00Z\",\"user\":\"jim\"}\n{\"weight\":80,\"user\":\"kim\"}",
                "/1/user"
            ),
            (
                "ble-scale-lines",
                "{\"weight\":80,\"timestamp\":\"2026-11-20T07:00:00Z\"}\n{\"weight\":80,\"user\":\"ben\"}", "/1/user"
            ),
        ])
    func `A person's token refuses a whole post that names someone else`(
        place: String, body: String, at: String
    ) async throws {
        let scene = try await scene()
        try await scene.run { () async throws in
            let answer = try await scene.post("/ingest/\(place)", body)
            #expect(answer.status == 403, "\(answer)")
            let error = answer.json?["error"]?.text ?? ""
            #expect(
                error.hasPrefix("\(at): ") && error.contains("is of me") && error.contains("hub ingest new"), "\(error)"
            )
            #expect(await scene.hub.held.count == 0)
            await scene.hub.wait { $0.events.contains { $0.text?.contains("names someone else") == true } }
        }
    }

    @Test func `A reading of an unknown ble-scale-sync user is stored for the token's person, with the user's name`()
        async throws
    {
        let scene = try await scene()
        try await scene.run { () async throws in
            for (place, body) in [
                ("ble-scale-sync", #"{"weight":80,"user_name":"Papa","user_slug":"papa"}"#),
                ("ble-scale-lines", #"{"weight":81,"timestamp":"2026-11-20T07:00:00Z","user":"papa"}"#),
            ] {
                let answer = try await scene.post("/ingest/\(place)", body)
                #expect(answer.status == 200 && answer.json?["stored"]?.integer == 1, "\(answer)")
            }
            let samples = await scene.samples()
            #expect(samples.map(\.subject) == [.account("me"), .account("me")])
            #expect(samples.map { $0.metadata?.text } == [#"{"userName":"Papa"}"#, #"{"userName":"papa"}"#])
        }
    }

    @Test func `A household's token may name a person, and a person's token its own person`() async throws {
        let scene = try await scene()
        func subjects() async -> [Subject?] { await scene.samples().map(\.subject) }
        try await scene.run { () async throws in
            let named =
                #"[{"weight":80,"person":"ben","start":"2026-11-20T07:00:00Z"},{"weight":80,"subject":{"slot":2},"start":"2026-11-20T08:00:00Z"},{"weight":80,"start":"2026-11-20T09:00:00Z"}]"#
            #expect(try await scene.send("POST", "/ingest/plain", Array(named.utf8), token: Self.home).status == 200)
            #expect(await subjects() == [.account("ben"), .slot(2), nil])
            for own in [#""person":"me""#, #""subject":{"name":"Me"}"#, #""account":"me""#] {
                let answer = try await scene.post(
                    "/ingest/plain", #"{"weight":80,\#(own),"start":"2026-11-21T07:00:00Z"}"#)
                #expect(answer.status == 200, "\(answer.body)")
            }
            #expect(await subjects().last == .account("me"))
        }
    }

    @Test
    func `A person's token is for one user of openScale, and another user's measurements and deletions are refused`()
        async throws
    {
        let scene = try await scene()
        func post(_ event: String, _ user: Int, _ day: Int, token: String? = nil) async throws -> Scene.Answer {
            let body = #"{"event":"\#(event)","userId":\#(user),"date":"2026-11-\#(day)T07:00:00.000Z","weight":80.5}"#
            return try await scene.send("POST", "/ingest/openscale", Array(body.utf8), token: token ?? Scene.secret)
        }
        try await scene.run { () async throws in
            #expect(try await post("insert", 1, 20).count("stored") == 1)
            for event in ["insert", "update", "delete", "clear"] {
                let other = try await post(event, 2, 21)
                #expect(
                    other.status == 200 && other.count("stored") == 0 && other.count("retracted") == 0, "\(other.body)")
                #expect(other.json?["rejected"]?.list?.first?["code"] == "person", "\(other.body)")
            }
            #expect(try await post("insert", 1, 22).count("stored") == 1)
            // A household's token distinguishes users by slot.
            #expect(try await post("insert", 2, 23, token: Self.home).count("stored") == 1)
            let subjects = await scene.samples().compactMap(\.subject)
            #expect(subjects == [.account("me"), .account("me"), .slot(2)])
        }
    }

    @Test func `A day that Samsung Health continues to count gets a new version with each post`() async throws {
        let scene = try await Scene()
        func steps(_ made: String, _ count: Int) -> String {
            #"{"timestamp":"2026-11-20T\#(made)Z","steps":[{"count":\#(count),"start_time":"2026-11-19T23:00:00Z","end_time":"2026-11-20T22:59:59.999Z","metadata":{"data_origin":"com.sec.android.app.shealth"}}]}"#
        }
        try await scene.run { () async throws in
            for (made, count) in [("08:00:00", 2_100), ("12:00:00", 4_857), ("23:30:00", 9_878)] {
                let answer = try await scene.post("/ingest/hc-webhook", steps(made, count))
                #expect(answer.status == 200 && answer.count("stored") == 1, "\(answer.body)")
            }
            let again = try await scene.post("/ingest/hc-webhook", steps("23:40:00", 9_878))
            #expect(again.count("duplicate") == 1)
            let samples = await scene.samples()
            #expect(Set(samples.map(\.key)).count == 1)
            #expect(samples.last?.value == .quantity(9_878, unit: "count"))
        }
    }
}
