import Foundation
import HubProcess
import Testing

@testable import Web

/// Metrics and probes for monitoring programs.
@Suite(.timeLimit(.minutes(3))) struct MetricsTests {
    @Test func `metrics are for the owner alone, and equal hub status without names of persons`() async throws {
        let scene = try await Scene()
        for person in ["me", "ben"] { _ = try await scene.command("log", "weight", "83.125kg", "--person", person) }
        #expect(try await scene.get("/metrics").status == 401)
        let (all, bens) = (try await scene.token("prometheus"), try await scene.token("bens", person: "ben"))
        #expect(try await scene.get("/metrics", fields: Scene.bearer(all)).status == 200)
        #expect(try await scene.get("/metrics", fields: Scene.bearer(bens)).status == 404)
        #expect(try await Browser(scene, "ben").get("/metrics").status == 404)
        let owner = try await Browser(scene)
        for _ in 0..<3 { _ = try await owner.get("/types/weight?person=ben") }
        for number in 0..<20 { _ = try await owner.get("/nothing-\(number)?person=ben") }
        let answer = try await owner.get("/metrics")
        #expect(answer.status == 200)
        #expect(answer.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        let lines = answer.body.split(separator: "\n").map(String.init)
        let status = try await scene.status()
        for (name, value) in [
            ("hub_up", 1), ("hub_records", try #require(status["records"] as? Int)), ("hub_inbox_records", 0),
            ("hub_store_ok", 1), ("hub_plugin_alive{plugin=\"web\"}", 1),
            ("web_requests_total{route=\"/types/{type}\",status=\"2xx\"}", 3),
            ("web_request_duration_seconds_count{route=\"/types/{type}\"}", 3), ("web_sessions", 2),
            ("web_event_streams", 0),
        ] { #expect(lines.contains("\(name) \(value)"), "\(name) \(value): \(answer.body)") }
        // Requests for unknown addresses share one figure.
        #expect(lines.count { $0.hasPrefix("web_requests_total{route=\"other\"") } == 1)
        #expect(!answer.body.contains("nothing-") && !answer.body.contains("ben") && !answer.body.contains("83.125"))
        for name in lines where name.hasPrefix("# TYPE") {
            let words = name.split(separator: " ")
            #expect((words[3] == "counter") == words[2].hasSuffix("_total"), "\(name)")
        }
    }

    @Test func `without the grant for the hub's figures, metrics name the command that grants them`() async throws {
        let scene = try await Scene(owner: ["logs"])
        let text = try await Browser(scene).get("/metrics").body
        #expect(text.contains("hub_up 1\n") && !text.contains("hub_records"))
        let granted = "hub permissions allow web '*' --owner"
        #expect(
            text.hasPrefix("# The hub's figures are not granted to this page (status): type \(granted)\n"), "\(text)")
    }

    @Test func `the document lists exactly the metrics that may be served`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Docs/Metrics.md")
        let rows = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter {
            $0.hasPrefix("| `") && !$0.hasPrefix("| `/")
        }
        let told = (MetricCatalogue.hub + MetricCatalogue.web).map { metric in
            let labels = metric.labels.isEmpty ? "" : metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |"
        }
        #expect(rows.map(String.init) == told)
    }

    @Test(.enabled(if: Need.prometheusClient.isMet, "\(Need.prometheusClient.reason)"))
    func `the parser of Prometheus accepts it`() async throws {
        let scene = try await Scene { folder in "[plugin.json-lines]\npath = \"\(folder)/lines\"" }
        let owner = try await Browser(scene)
        _ = try await scene.command("log", "weight", "80.4kg", "--person", "me")
        let path = try scene.write(try await owner.get("/metrics").body, to: "metrics.txt")
        let program = """
            import sys
            from prometheus_client.parser import text_string_to_metric_families as read
            for family in read(open(sys.argv[1]).read()):
                assert family.documentation and family.type in ("counter", "gauge", "histogram"), family
                print(family.name, family.type, len(family.samples))
            """
        let result = try await ChildProcess(
            "/usr/bin/env", ["PYTHONPATH=\(Need.metricPackages)", "python3", "-c", program, path]
        ).result()
        #expect(result.code == 0, "\(result.output) \(result.errors)")
        #expect(
            result.output.contains("hub_records gauge 1")
                && result.output.contains("web_request_duration_seconds histogram"))
    }

    @Test func `health reports that the page answers, and ready that the hub's store works, both without a log-in`()
        async throws
    {
        let scene = try await Scene()
        let health = try await scene.get("/health")
        #expect(health.status == 200 && health.body == "ok\n")
        try await eventually { try await scene.get("/ready").status == 200 }
        scene.freeze(true)
        defer { scene.freeze(false) }
        var away = try await scene.get("/ready")
        // The last result is valid for a second.
        try await eventually {
            away = try await scene.get("/ready")
            return away.status != 200
        }
        #expect(away.status == 503 && away.body == "not ready\n")
        #expect(try await scene.get("/health").status == 200)
        scene.freeze(false)
        try await eventually { try await scene.get("/ready").status == 200 }
    }
}
