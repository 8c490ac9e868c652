import HealthText
import Hummingbird
import PluginKit

/// The page of a sink: its figures, reasons for waiting, and replay.
struct SinkPage: Sendable {
    let hub: PluginContext

    func response(_ name: Substring?, _ choice: SelectedPerson) async throws -> Response {
        guard let sink = try await hub.hubStatus().sinks.first(where: { $0.name == name ?? "" }) else {
            throw noSuchPage
        }
        let advice = sink.note.map { LocalTime.inSentence($0) } ?? "You need not do anything."
        return PageFrame(title: "Deliveries to \(sink.name)", choice: choice, path: "/deliveries").page(
            """
            <p>\(DeliveriesPage.lamp(sink)): \(advice)</p>
            \(Self.account(sink))\(Self.times(sink))\(Self.unwell(sink))\(ReplayPages.question(sink.name))
            """)
    }

    /// The wanted records by state; the lines add up.
    private static func account(_ sink: SinkStatus) -> HTML {
        let skips = sink.skips.sorted { $0.key < $1.key }.map { "\($0.key): \(NumberText.grouped($0.value))" }
        let rows: [(String, Int64, String)] = [
            ("Wanted", sink.wanted, sink.isCounting == true ? "is being counted, and too low until then" : ""),
            ("Delivered", sink.delivered, ""),
            ("Waiting", sink.pending, sink.oldestPending.flatMap { since("the oldest since", $0) } ?? ""),
            ("To try again", sink.retrying, sink.nextRetry.flatMap { since("next at", $0) } ?? ""),
            ("Refused", sink.refused, sink.refused > 0 ? "by the sink; its last reason stands below" : ""),
            ("Replaced by a newer version", sink.superseded, ""),
            ("Not for it", sink.skipped, skips.joined(separator: ", ")),
        ]
        let shown = rows.filter { name, count, _ in count > 0 || ["Wanted", "Delivered"].contains(name) }
        return HTML.table("Account", ["What", "Records", "Why"], shown) { name, count, why in
            ["\(name)", "\(NumberText.grouped(count))", "\(why)"]
        }
    }

    private static func times(_ sink: SinkStatus) -> HTML {
        let open = sink.isOpen ? "open: its plugin asks for records" : "closed: no plugin asks for records now"
        var facts: [(String, String)] = [("Subscription", open), ("Settled up to", sink.cursor)]
        if let last = sink.lastDelivered.flatMap({ LocalTime.text($0) }) { facts.append(("Last delivered", last)) }
        if let last = sink.lastFailure.flatMap({ LocalTime.text($0) }) {
            facts.append(("Last failure", last + (sink.lastFailureReason.map { ": \($0)" } ?? "")))
        }
        return "<dl>\(HTML.each(facts) { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" })</dl>"
    }

    /// A link to the page of a record if some were refused or wait for a retry.
    private static func unwell(_ sink: SinkStatus) -> HTML? {
        guard sink.refused + sink.retrying > 0 else { return nil }
        return """
            <p>The hub counts refused records and those to try again, and does not list them; the page of a record shows the answer
            of the sink, and its time.</p>\(DeliveriesPage.question)
            """
    }

    private static func since(_ word: String, _ moment: String) -> String? {
        LocalTime.text(moment).map { "\(word) \($0)" }
    }
}
