import Foundation
import HubProcess
import HubSettings
import JSON
import PluginKit
import PluginTesting
import Samples
import Testing

@testable import HTTPIngest

/// Records must not be lost silently: with bad neighbours, a hub that ends, a disk that is full.
@Suite(.timeLimit(.minutes(1)), .serialized) struct LossTests {
    @Test func `A night too large for the hub is refused alone`() async throws {
        let scene = try await Scene()
        let stages = (0..<1_001).map { _ in
            #"{"stage":"5","start_time":"2026-02-10T00:00:00Z","end_time":"2026-02-10T01:00:00Z"}"#
        }
        let weights = (10..<60).map { #"{"kilograms":80,"time":"2026-02-10T08:00:\#($0)Z"}"# }
        let body =
            #"{"timestamp":"2026-02-10T10:00:00Z","sleep":[{"session_end_time":"2026-02-10T07:00:00Z","duration_seconds":25200,"stages":[\#(stages.joined(separator: ","))]}],"weight":[\#(weights.joined(separator: ","))]}"#
        try await scene.run { () async throws in
            let answer = try await scene.post("/ingest/hc-webhook", body)
            #expect(answer.status == 200 && answer.count("stored") == 50, "\(answer.body.prefix(300))")
            let first = answer.json?["rejected"]?.list?.first
            #expect(first?["at"] == "/sleep/0" && first?["code"] == "group")
            #expect(await scene.hub.held.count == 50)
        }
    }

    @Test func `In a batch that the hub refuses as a whole only the bad group is refused`() async throws {
        let scene = try await Scene()
        let good = (0..<40).map { #"{"date":"2026-02-10 06:00:\#(10 + $0) +0000","qty":60,"source":"S"}"# }
        let beyond = #"{"date":"9999-12-30 23:59:30 +0000","qty":60,"source":"S"}"#
        let start = #""start":"2026-02-10 06:00:00 +0100""#
        let body =
            #"{"data":{"metrics":[{"name":"heart_rate","units":"count/min","data":[\#((good + [beyond]).joined(separator: ","))]}],"symptoms":[{"name":"\#(String(repeating: "x", count: 70_000))",\#(start)}]}}"#
        try await scene.run { () async throws in
            let answer = try await scene.send(
                "POST", "/ingest/hae", Array(body.utf8), fields: ["automation-aggregation": "Hours"])
            #expect(answer.count("stored") == 40, "\(answer.body.prefix(300))")
            #expect(
                answer.json?["rejected"]?.list?.map { $0["at"]?.text } == [
                    "/data/metrics/0/data/40", "/data/symptoms/0",
                ])
        }
    }

    @Test func `A reading that arrives while the hub stops is kept and stored at the next start`() async throws {
        let scene = try await Scene { $0.answers = false }
        let run = PluginRun(HTTPIngest(), at: scene.place, settings: nil)
        await scene.hub.events(1)
        async let answer = scene.send(
            "POST", "/ingest/ble-scale-sync", Scene.fixture("ble-scale-sync-webhook.json"), within: 5)
        await scene.hub.batches(1)
        run.loseHub()
        let said = try? await answer
        #expect(await run.end() == .done)
        // If the answer came through, it says so.
        if let said { #expect(said.status == 503 && said.body.contains("kept on disk"), "\(said.body)") }
        #expect(await scene.hub.held.count == 0)
        await scene.hub.change { $0.answers = true }
        try await scene.run { () async throws in
            await scene.hub.records(1)
            let again = try await scene.post(fixture: "ble-scale-sync-webhook.json", to: "/ingest/ble-scale-sync")
            #expect(again.count("duplicate") == 1)
        }
    }

    @Test func `The readings of two people who weigh themselves while the hub is away are both kept`() async throws {
        var limits = IngestLimits()
        (limits.forgotten, limits.turn) = (.milliseconds(300), .milliseconds(300))
        let scene = try await Scene(limits: limits) {
            $0.answers = false
            $0.heartbeat = Scene.quickHeartbeat
        }
        try await scene.run { () async throws in
            for weight in [70, 90] {
                let answer = try await scene.post("/ingest/ble-scale-sync", "{\"weight\":\(weight)}")
                #expect(answer.status == 503 && answer.body.contains("kept on disk"), "\(answer.body)")
            }
            await scene.hub.change { $0.answers = true }
            await scene.hub.forgetSessions()
            await scene.hub.records(2)
        }
        #expect(await scene.hub.heldText().sorted() == ["weight 70.0 kg", "weight 90.0 kg"])
    }

    @Test(.enabled(if: Need.mount.isMet, "\(Need.mount.reason)"))
    func `A full disk is reported as such, and the same post is taken when there is room`() async throws {
        let scene = try await Scene()
        let disk = try SmallDisk(at: scene.place.state, bytes: 500_000)
        let points = (0..<10_000).map { index in
            #"{"date":"2026-02-10 \#(10 + index / 3_600):\#(10 + index / 60 % 50):\#(10 + index % 50) +0000","qty":60,"source":"S"}"#
        }
        let body =
            #"{"data":{"metrics":[{"name":"heart_rate","units":"count/min","data":[\#(points.joined(separator: ","))]}]}}"#
        try #require(body.utf8.count > 500_000 && body.utf8.count < 1 << 20)
        try await scene.run { () async throws in
            let full = try await scene.post("/ingest/hae", body)
            #expect(full.status == 503 && full.body.contains("disk"), "\(full.status) \(full.body)")
            #expect(full.fields["retry-after"] != nil)
            // A post that needs no room is still taken.
            #expect(try await scene.post(fixture: "hae-12-hour.json", to: "/ingest/hae").status == 200)
            disk.resize(bytes: 8_000_000)
            #expect(try await scene.post("/ingest/hae", body).status == 200)
        }
    }
}
