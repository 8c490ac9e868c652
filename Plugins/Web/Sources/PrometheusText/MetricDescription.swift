/// The description of a metric; metrics without a description are not served.
package struct MetricDescription: Sendable {
    package enum Kind: String, Sendable { case counter, gauge, histogram }

    /// The Prometheus name: with base units, and `_total` at the end of a counter.
    package let name: String
    package let kind: Kind
    /// One sentence.
    package let help: String
    /// Names of its labels.
    package let labels: [String]

    package init(_ name: String, _ kind: Kind, _ help: String, labels: [String] = []) {
        (self.name, self.kind, self.help, self.labels) = (name, kind, help, labels)
    }
}
