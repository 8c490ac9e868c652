/// The description of a metric; metrics without a description are not served.
struct MetricDescription: Sendable {
    enum Kind: String, Sendable { case counter, gauge, histogram }

    /// The Prometheus name: with base units, and `_total` at the end of a counter.
    let name: String
    let kind: Kind
    /// One sentence.
    let help: String
    /// Names of its labels.
    let labels: [String]

    init(_ name: String, _ kind: Kind, _ help: String, labels: [String] = []) {
        (self.name, self.kind, self.help, self.labels) = (name, kind, help, labels)
    }
}
