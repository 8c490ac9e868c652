/// Writes the text exposition format 0.0.4 of Prometheus.
struct MetricText {
    private(set) var text = ""

    /// Adds a metric with all its label values; adds nothing if there are none.
    mutating func add(_ metric: MetricDescription, _ members: [(MetricLabels, MetricSeries.Reading)]) {
        guard !members.isEmpty else { return }
        text += "# HELP \(metric.name) \(Self.escaped(metric.help, quotes: false))\n"
        text += "# TYPE \(metric.name) \(metric.kind.rawValue)\n"
        for (labels, reading) in members {
            guard metric.kind == .histogram else {
                line(metric.name, labels, reading.value)
                continue
            }
            var count: Int64 = 0
            for (index, number) in reading.buckets.enumerated() {
                count += number
                let bound = index < reading.bounds.count ? Self.number(reading.bounds[index]) : "+Inf"
                line("\(metric.name)_bucket", labels, Double(count), bound: bound)
            }
            line("\(metric.name)_sum", labels, reading.value)
            line("\(metric.name)_count", labels, Double(count))
        }
    }

    private mutating func line(_ name: String, _ labels: MetricLabels, _ value: Double, bound: String? = nil) {
        var pairs = zip(labels.names, labels.values).map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
        if let bound { pairs.append("le=\"\(bound)\"") }
        text += name + (pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") + " \(Self.number(value))\n"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return "\(whole)" }
        return "\(value)"
    }
}
