import Foundation
import HubProcess
import HubSettings
import JSON
import PhonePayloads
import Platform
import PluginKit
import PluginTesting
import Samples
import Testing

@testable import HTTPIngest

/// Posts of phones through a real socket, to a fake hub that behaves as each test needs.
@Suite(.timeLimit(.minutes(1)), .serialized) struct DoorTests {
    @Test func `Every sender's bodies are stored, and the same again adds nothing`() async throws {
        let scene = try await Scene()
        try await scene.run { () async throws in
            let posts = [
                ("hae-raw.json", "/ingest/hae"), ("hae-workouts-v2.json", "/ingest/hae"),
                ("hae-other.json", "/ingest/hae"),
                ("hae-sleep-summary.json", "/ingest/hae"), ("hc-webhook.json", "/ingest/hc-webhook"),
                ("openscale-insert.json", "/ingest/openscale"),
                ("ble-scale-sync-webhook.json", "/ingest/ble-scale-sync"),
                ("plain-records.json", "/ingest/plain"), ("plain-weight-now.json", "/ingest/plain"),
                ("hcgateway-sleep.json", "/api/v2/sync/SleepSession"),
            ]
            var count = 0
            for (name, path) in posts {
                let first = try await scene.post(fixture: name, to: path)
                #expect(first.status == 200, "\(name): \(first.body)")
                let held = await scene.hub.held.count + (name.hasPrefix("hc-webhook") ? 2 : 0)
                #expect(held > count, "\(name)")
                count = await scene.hub.held.count
                let again = try await scene.post(fixture: name, to: path)
                #expect(again.status == 200)
                #expect(await scene.hub.held.count == count, "\(name) came twice")
                let report = path.hasPrefix("/api") ? again.json?["report"] : again.json
                #expect(report?["stored"]?.lenientInteger == 0, "\(name): \(again.body)")
            }
        }
    }

    @Test func `A body whose type is not JSON is refused with a remedy`() async throws {
        let scene = try await Scene()
        let bodies = [
            ("bad-multipart.txt", "/ingest/hae", "multipart/form-data; boundary=b", "choose JSON as export format"),
            ("plain-bad-type.txt", "/ingest/plain", "application/x-www-form-urlencoded", "send JSON"),
        ]
        try await scene.run { () async throws in
            for (name, path, type, words) in bodies {
                let answer = try await scene.post(fixture: name, to: path, fields: ["Content-Type": type])
                #expect(answer.status == 415 && answer.body.contains(words), "\(name): \(answer)")
            }
            #expect(await scene.hub.held.count == 0)
        }
    }

    @Test func `A post succeeds only after the hub has stored it, and each item has its result`() async throws {
        let scene = try await Scene {
            $0.answers = false
            $0.heartbeat = Scene.quickHeartbeat
        }
        try await scene.run { () async throws in
            async let answer = scene.post(fixture: "hae-bad-values.json", to: "/ingest/hae")
            await scene.hub.batches(1)
            #expect(await scene.hub.held.count == 0)
            await scene.hub.change { $0.answers = true }
            await scene.hub.forgetSessions()
            let stored = try await answer
            #expect(stored.status == 200 && stored.count("stored") == 2 && stored.count("received") == 11)
            #expect(stored.json?["rejected"]?.list?.count == 9)
            #expect(stored.json?["rejected"]?.list?.first?["at"] == "/data/metrics/0/data/0")
        }
    }

    @Test func `A record that the hub rejects is reported with its place, and the others are stored`() async throws {
        let scene = try await Scene {
            $0.rejects = { record in
                guard case .sample(let sample) = record, sample.type == .weight else { return nil }
                return (.limit, "too many weights")
            }
        }
        try await scene.run { () async throws in
            let answer = try await scene.post(fixture: "hae-raw.json", to: "/ingest/hae")
            #expect(answer.count("stored") == 16)
            #expect(
                answer.json?["rejected"] == [
                    ["at": "/data/metrics/0/data/0", "code": "limit", "reason": "too many weights"]
                ])
            // The app on the phone does not show the rejection, so it must be in the events of the plugin.
            await scene.hub.wait { $0.events.contains { $0.text?.contains("refused") == true } }
        }
    }

    @Test
    func `A line without a stored record fails, and hub status shows it for a day and until a good one`() async throws {
        // The hub's clock runs two months in a minute of the test.
        let scene = try await Scene { $0.clock = "2026-11-20T12:00:00Z@86400" }
        try await scene.run { () async throws in
            for body in [#"{"weigth":80}"#, #"{"weight":"heavy"}"#] {
                let answer = try await scene.post("/ingest/plain", body)
                #expect(answer.status == 422 && answer.count("stored") == 0, "\(answer.body)")
            }
            for (body, meant) in [
                (#"{"weigth":80}"#, "weigth is neither a type nor a member of a record; did you mean weight?"),
                (#"{"typ":"weight","value":80}"#, "typ is neither a type nor a member of a record; did you mean type?"),
                (#"{"qqqqqqqqqqqq":80}"#, "qqqqqqqqqqqq is neither a type nor a member of a record"),
            ] {
                let reason = try await scene.post("/ingest/plain", body).json?["rejected"]?.list?.first?["reason"]?.text
                #expect(reason?.hasSuffix(meant) == true, "\(reason ?? "-")")
            }
            // hub status shows an event of a device as an error until it is resolved.
            await scene.hub.wait {
                $0.events.contains { $0.event == "error" && $0.severity == .warning && $0.device != nil }
            }
            while await scene.hub.events.last?.isResolved != true {
                let good = try await scene.post("/ingest/plain", #"{"weight":80}"#)
                #expect(good.status == 200 && good.count("stored") == 1)
            }
        }
    }

    @Test func `A good post soon after a bad one does not hide the refusal, even after a restart`() async throws {
        let scene = try await Scene()
        try await scene.run { () async throws in
            _ = try await scene.post("/ingest/plain", #"{"weight":"heavy"}"#)
            await scene.hub.wait { $0.events.contains { $0.event == "error" } }
            #expect(try await scene.post("/ingest/plain", #"{"weight":80}"#).status == 200)
        }
        try await scene.run { () async throws in
            #expect(try await scene.post("/ingest/plain", #"{"weight":81}"#).status == 200)
        }
        #expect(await scene.hub.events.allSatisfy { !$0.isResolved })
    }

    @Test func `The first fully accepted post resolves the previous process's report about a token`() async throws {
        // The hub keeps an event of a device until it is resolved, even over restarts.
        let scene = try await Scene()
        try await scene.run { () async throws in
            let good = try await scene.post("/ingest/plain", #"{"weight":80}"#)
            #expect(good.status == 200)
            await scene.hub.wait { $0.events.contains { $0.isResolved && $0.device != nil } }
            _ = try await scene.post("/ingest/plain", #"{"weight":81}"#)
            #expect(await scene.hub.events.count { $0.isResolved } == 1)
        }
    }

    @Test
    func `A post fails while the hub does not answer; one that is not repeated is still stored once`() async throws {
        var limits = IngestLimits()
        (limits.post, limits.forgotten, limits.turn) = (.seconds(1), .seconds(1), .seconds(1))
        let scene = try await Scene(limits: limits) {
            $0.answers = false
            $0.heartbeat = Scene.quickHeartbeat
        }
        try await scene.run { () async throws in
            let phone = try await scene.post(fixture: "hae-12-hour.json", to: "/ingest/hae")
            #expect(phone.status == 503 && phone.fields["retry-after"] == "30")
            #expect(phone.body.contains("send the same again"))
            // The token's turn lasts until the hub has answered for the first post.
            let other = try await scene.post(fixture: "hae-12-hour.json", to: "/ingest/hae")
            #expect(other.status == 429 && other.fields["retry-after"] != nil)
            await scene.hub.change { $0.answers = true }
            await scene.hub.forgetSessions()
            await scene.hub.records(3)
        }
        await scene.hub.change { $0.answers = false }
        try await scene.run { () async throws in
            for _ in 1...2 {
                let scale = try await scene.post(fixture: "ble-scale-sync-webhook.json", to: "/ingest/ble-scale-sync")
                #expect(scale.status == 503 && scale.body.contains("kept on disk"), "\(scale.body)")
            }
            await scene.hub.change { $0.answers = true }
            await scene.hub.forgetSessions()
            await scene.hub.records(4)
            let again = try await scene.post(fixture: "ble-scale-sync-webhook.json", to: "/ingest/ble-scale-sync")
            #expect(again.status == 200 && again.count("duplicate") == 1)
        }
        #expect(await scene.hub.held.count == 4)
    }

    @Test func `Deletions in openScale are retracted, in whatever order its requests end`() async throws {
        // Use a household's token: openScale sends all users of the phone, and a person's token accepts only one.
        let hash = Digests.sha256("a-secret-that-is-no-secret".utf8).hexadecimal
        let scene = try await Scene(settings: ["tokens": .list([.string("phone:0badcafe:\(hash)")])])
        try await scene.run { () async throws in
            for name in ["insert", "update"] {
                #expect(try await scene.post(fixture: "openscale-\(name).json", to: "/ingest/openscale").status == 200)
            }
            #expect(await scene.hub.heldText() == ["bodyFatPercentage 0.185 %", "weight 80.2 kg"])
            let deleted = try await scene.post(fixture: "openscale-delete.json", to: "/ingest/openscale")
            #expect(deleted.count("retracted") == 2)
            #expect(await scene.hub.heldText() == [])
            // The app sends everything again.
            _ = try await scene.post(fixture: "openscale-insert.json", to: "/ingest/openscale")
            _ = try await scene.post(fixture: "openscale-batch.json", to: "/ingest/openscale")
            #expect(await scene.hub.heldText().count == 10)
            let cleared = try await scene.post(fixture: "openscale-clear.json", to: "/ingest/openscale")
            #expect(cleared.count("retracted") == 6)
            #expect(await scene.hub.heldText().contains("weight 92.5 kg"))
        }
    }

    @Test func `A past day of Health Connect never falls, and today's may grow`() async throws {
        let scene = try await Scene()
        try await scene.run { () async throws in
            func steps(_ count: Int) -> String {
                #"{"timestamp":"2026-02-11T22:00:00Z","steps":[{"count":\#(count),"start_time":"2026-02-09T23:00:00Z","end_time":"2026-02-10T23:00:00Z"}]}"#
            }
            #expect(try await scene.post("/ingest/hc-webhook", steps(8_000)).count("stored") == 1)
            let less = try await scene.post("/ingest/hc-webhook", steps(7_000))
            #expect(less.count("stored") == 0 && less.json?["ignored"]?.list?.count == 1)
            #expect(try await scene.post("/ingest/hc-webhook", steps(9_000)).count("stored") == 1)
            // The hub does not have records that it refused.
            await scene.hub.change { $0.rejects = { _ in (.limit, "too many steps") } }
            #expect(try await scene.post("/ingest/hc-webhook", steps(90_000)).json?["rejected"]?.list?.count == 1)
            await scene.hub.change { $0.rejects = { _ in nil } }
            #expect(try await scene.post("/ingest/hc-webhook", steps(10_000)).count("stored") == 1)
        }
    }

    @Test
    func `Two equal posts without a time are one unless their Idempotency-Key differs; two in one second are two`()
        async throws
    {
        let scene = try await Scene()
        try await scene.run { () async throws in
            let body = #"{"weight":80.4}"#
            #expect(try await scene.post("/ingest/plain", body).count("stored") == 1)
            #expect(try await scene.post("/ingest/plain", body).count("duplicate") == 1)
            let other = try await scene.post("/ingest/plain", body, fields: ["Idempotency-Key": "2"])
            #expect(other.count("stored") == 1)
            #expect(try await scene.post("/ingest/plain", #"{"weight":80.5}"#).count("stored") == 1)
            #expect(await scene.hub.held.count == 3)
        }
    }

    @Test func `Samples from before a journey keep their offset and do not become new versions`() async throws {
        let scene = try await Scene()
        func body(_ zone: String, _ hour: Int) -> String {
            let day = LocalDate(daysSinceEpoch: Int(HubClock.system.now() / 86_400_000_000) - 1).text
            return
                #"{"data":{"metrics":[{"name":"weight","units":"kg","data":[{"date":"\#(day) \#(hour):00:00 \#(zone)","qty":80,"source":"S"}]}]}}"#
        }
        try await scene.run { () async throws in
            #expect(try await scene.post("/ingest/hae", body("+0100", 12)).count("stored") == 1)
        }
        // The same instant from New York, after a restart.
        try await scene.run { () async throws in
            let again = try await scene.post("/ingest/hae", body("-0500", 6).replacing(" 6:", with: " 06:"))
            #expect(again.count("duplicate") == 1)
        }
    }

    @Test func `A post that waits for the hub when the plugin stops is answered 503 and not stored`() async throws {
        let scene = try await Scene { $0.answers = false }
        let run = PluginRun(HTTPIngest(), at: scene.place, settings: nil)
        await scene.hub.events(1)
        let body = try Scene.fixture("hae-12-hour.json")
        async let answer = scene.send("POST", "/ingest/hae", body, within: 20)
        await scene.hub.batches(1)
        // The hub does not answer, so the plugin must not wait for it.
        run.loseHub()
        let said = try await answer
        #expect(said.status == 503 && said.body.contains("stopped"), "\(said.status) \(said.body)")
        #expect(await run.end() == .done)
        #expect(await scene.hub.held.count == 0)
    }

    @Test func `The page explains how to set up a phone, loads nothing, and contains no token`() async throws {
        let scene = try await Scene(settings: ["address": .string("https://hub.example.org")])
        try await scene.run { () async throws in
            let page = try await scene.send("GET", "/", token: nil)
            #expect(page.status == 200 && page.body.contains("https://hub.example.org/ingest/hae"))
            #expect(page.fields["content-security-policy"]?.hasPrefix("default-src 'none';") == true)
            for word in ["<script", "src=", "<link", "url(", "@import", "<img", "0badcafe"] {
                #expect(!page.body.contains(word), "\(word)")
            }
            #expect(try await scene.send("GET", "/ingest/hae", token: nil).status == 204)
            #expect(try await scene.send("HEAD", "/ingest/ble-scale-sync", token: nil).status == 204)
            #expect(try await scene.send("GET", "/etc/passwd", token: nil).status == 404)
        }
    }

    @Test func `HCGateway logs in with the two halves of a token, and renews it`() async throws {
        let scene = try await Scene()
        try await scene.run { () async throws in
            let body = #"{"username":"0badcafe","password":"a-secret-that-is-no-secret"}"#
            let answer = try await scene.send("POST", "/api/v2/login", Array(body.utf8), token: nil)
            #expect(answer.status == 201 && answer.json?["token"]?.text == Scene.secret)
            let refresh = #"{"refresh":"\#(Scene.secret)"}"#
            #expect(try await scene.send("POST", "/api/v2/refresh", Array(refresh.utf8), token: nil).status == 200)
            let wrong = #"{"username":"0badcafe","password":"x"}"#
            #expect(try await scene.send("POST", "/api/v2/login", Array(wrong.utf8), token: nil).status == 403)
        }
    }
}
