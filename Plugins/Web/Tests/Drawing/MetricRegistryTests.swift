import CoreMetrics
import Foundation
import HubProcess
import Testing

@testable import Web

/// Metrics as a scraper reads them.
@Suite struct MetricRegistryTests {
    private static let descriptions: [MetricDescription] = [
        .init("a_total", .counter, "Counts\nlines with \\ in them.", labels: ["name"]),
        .init("b_bytes", .gauge, "A size."), .init("c_seconds", .histogram, "A time.", labels: ["route"]),
        .init("d", .gauge, "Never set."),
    ]

    @Test func `counters add up, gauges keep the last value, and buckets count the times up to their bound`() {
        let registry = MetricRegistry(Self.descriptions, bounds: [0.1, 1])
        for (name, amount) in [("x", 1), ("y", 2), ("x", 3)] {
            Counter(label: "a_total", dimensions: [("name", name)], factory: registry).increment(by: amount)
        }
        let gauge = Gauge(label: "b_bytes", factory: registry)
        for value in [7.5, 1_000_000] { gauge.record(value) }
        let timer = Timer(label: "c_seconds", dimensions: [("route", "/")], factory: registry)
        for milliseconds in [50, 100, 101, 5_000] { timer.recordNanoseconds(Int64(milliseconds) * 1_000_000) }
        #expect(
            registry.text == #"""
                # HELP a_total Counts\nlines with \\ in them.
                # TYPE a_total counter
                a_total{name="x"} 4
                a_total{name="y"} 2
                # HELP b_bytes A size.
                # TYPE b_bytes gauge
                b_bytes 1000000
                # HELP c_seconds A time.
                # TYPE c_seconds histogram
                c_seconds_bucket{route="/",le="0.1"} 2
                c_seconds_bucket{route="/",le="1"} 3
                c_seconds_bucket{route="/",le="+Inf"} 4
                c_seconds_sum{route="/"} 5.251
                c_seconds_count{route="/"} 4

                """#)
    }

    @Test func `a metric without a description, or with other labels or another kind, is not served`() {
        let registry = MetricRegistry(Self.descriptions)
        Counter(label: "z_total", factory: registry).increment()
        Counter(label: "a_total", factory: registry).increment()
        Counter(label: "a_total", dimensions: [("name", "x"), ("person", "anna")], factory: registry).increment()
        Counter(label: "b_bytes", factory: registry).increment()
        Gauge(label: "a_total", dimensions: [("name", "x")], factory: registry).record(1)
        #expect(registry.text.isEmpty)
    }

    @Test func `each metric has a limited number of label values`() {
        let registry = MetricRegistry(Self.descriptions, most: 10)
        for number in 0..<1_000 {
            Counter(label: "a_total", dimensions: [("name", "\(number)")], factory: registry).increment()
        }
        #expect(registry.text.split(separator: "\n").count { $0.hasPrefix("a_total{") } == 10)
        // Existing label values count on, and a released place is free again.
        let first = Counter(label: "a_total", dimensions: [("name", "0")], factory: registry)
        first.increment()
        #expect(registry.text.contains("a_total{name=\"0\"} 2\n"))
        first.destroy()
        Counter(label: "a_total", dimensions: [("name", "new")], factory: registry).increment()
        #expect(!registry.text.contains("name=\"0\"") && registry.text.contains("a_total{name=\"new\"} 1\n"))
    }

    @Test(.enabled(if: Need.prometheusClient.isMet, "\(Need.prometheusClient.reason)"))
    func `a scraper reads any text of a label back unchanged`() async throws {
        let values = ["\"", "\\", "\n", "\\n", "a\"} 7\nevil 1", "ünï·κ", "", " ", "{}=,", "\\\"\n\\"]
        let registry = MetricRegistry(Self.descriptions)
        for value in values { Gauge(label: "b_bytes", factory: registry).record(Double(value.utf8.count)) }
        for value in values { Counter(label: "a_total", dimensions: [("name", value)], factory: registry).increment() }
        let folder = try TemporaryFolder()
        let path = try folder.write(registry.text, to: "metrics.txt")
        let program = """
            import json, sys
            from prometheus_client.parser import text_string_to_metric_families as read
            families = {family.name: family for family in read(open(sys.argv[1], newline="").read())}
            print(json.dumps([families["a"].documentation, [sample.labels["name"] for sample in families["a"].samples]]))
            """
        let result = try await ChildProcess(
            "/usr/bin/env", ["PYTHONPATH=\(Need.metricPackages)", "python3", "-c", program, path]
        ).result()
        let read = try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [Any])
        #expect(read[0] as? String == "Counts\nlines with \\ in them.")
        #expect(Set(read[1] as? [String] ?? []) == Set(values), "\(result.output) \(result.errors)")
    }
}
