import CoreMetrics
import Synchronization

/// Collects metrics through swift-metrics and serves them in Prometheus' format.
///
/// It keeps only described metrics, and a limited number of label values for each; further label values are not counted.
final class MetricRegistry: MetricsFactory {
    private let descriptions: [MetricDescription]
    private let byName: [String: MetricDescription]
    private let bounds: [Double]
    private let most: Int
    private let series = Mutex<[String: [MetricLabels: MetricSeries]]>([:])

    /// - Parameters:
    ///   - descriptions: the metrics in the order in which they are served.
    ///   - bounds: the upper bounds of each histogram's buckets, in seconds, ascending.
    ///   - most: maximum number of different label values of one metric.
    init(
        _ descriptions: [MetricDescription],
        bounds: [Double] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10], most: Int = 1_000
    ) {
        (self.descriptions, self.bounds, self.most) = (descriptions, bounds, most)
        byName = Dictionary(descriptions.map { ($0.name, $0) }) { first, _ in first }
    }

    /// The text of all metrics, in the exposition format 0.0.4.
    var text: String {
        let all = series.withLock { $0 }
        var text = MetricText()
        for description in descriptions {
            let members = (all[description.name] ?? [:]).sorted { $0.key < $1.key }
            text.add(description, members.map { ($0.key, $0.value.reading) })
        }
        return text.text
    }

    private func member(_ label: String, _ dimensions: [(String, String)], _ kind: MetricDescription.Kind)
        -> MetricSeries?
    {
        guard let description = byName[label], description.kind == kind,
            Set(description.labels) == Set(dimensions.map(\.0))
        else { return nil }
        let labels = MetricLabels(dimensions.sorted { $0.0 < $1.0 })
        return series.withLock { series in
            if let known = series[label]?[labels] { return known }
            guard series[label]?.count ?? 0 < most else { return nil }
            let new = MetricSeries(kind == .histogram ? bounds : [])
            series[label, default: [:]][labels] = new
            return new
        }
    }

    private func remove(_ handler: MetricSeries?) {
        guard let handler else { return }
        series.withLock { all in
            for (name, members) in all {
                for (labels, member) in members where member === handler { all[name]?[labels] = nil }
            }
        }
    }

    // MARK: - MetricsFactory

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        member(label, dimensions, .counter) ?? NOOPMetricsHandler.instance
    }

    func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        member(label, dimensions, .counter) ?? NOOPMetricsHandler.instance
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        member(label, dimensions, .gauge) ?? NOOPMetricsHandler.instance
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        member(label, dimensions, aggregate ? .histogram : .gauge) ?? NOOPMetricsHandler.instance
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        member(label, dimensions, .histogram) ?? NOOPMetricsHandler.instance
    }

    func destroyCounter(_ handler: any CounterHandler) { remove(handler as? MetricSeries) }

    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {
        remove(handler as? MetricSeries)
    }

    func destroyMeter(_ handler: any MeterHandler) { remove(handler as? MetricSeries) }

    func destroyRecorder(_ handler: any RecorderHandler) { remove(handler as? MetricSeries) }

    func destroyTimer(_ handler: any TimerHandler) { remove(handler as? MetricSeries) }
}

/// Label names with their values, sorted by name.
struct MetricLabels: Hashable, Comparable, Sendable {
    let names, values: [String]

    init(_ pairs: [(String, String)]) { (names, values) = (pairs.map(\.0), pairs.map(\.1)) }

    static func < (left: MetricLabels, right: MetricLabels) -> Bool {
        left.values.lexicographicallyPrecedes(right.values)
    }
}

/// One metric with one set of label values.
final class MetricSeries: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    struct Reading: Sendable {
        /// The value of a counter or gauge; the sum of a histogram.
        var value = 0.0
        /// For a histogram, the count in each bucket, including the one beyond the last bound.
        var buckets: [Int64]
        var bounds: [Double]
    }

    private let state: Mutex<Reading>

    init(_ bounds: [Double]) {
        let buckets = bounds.isEmpty ? [] : [Int64](repeating: 0, count: bounds.count + 1)
        state = Mutex(Reading(buckets: buckets, bounds: bounds))
    }

    var reading: Reading { state.withLock { $0 } }

    func increment(by amount: Int64) { increment(by: Double(amount)) }

    func increment(by amount: Double) { state.withLock { $0.value += amount } }

    func decrement(by amount: Double) { increment(by: -amount) }

    func reset() { state.withLock { $0.value = 0 } }

    func set(_ value: Int64) { set(Double(value)) }

    func set(_ value: Double) { state.withLock { $0.value = value } }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        state.withLock { state in
            guard !state.buckets.isEmpty else {
                state.value = value
                return
            }
            state.value += value
            state.buckets[state.bounds.firstIndex { value <= $0 } ?? state.bounds.count] += 1
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }
}
