import HTTPTypes
import HealthText
import Hummingbird
import PluginKit

/// The page of all sinks: wanted, delivered and waiting records of each.
struct DeliveriesPage: Sendable {
    let hub: PluginContext

    func response(_ choice: SelectedPerson) async throws -> Response {
        let state = try await hub.hubStatus()
        let frame = PageFrame(title: "Deliveries", choice: choice, path: "/deliveries")
        guard !state.sinks.isEmpty else {
            return frame.page(
                """
                <p>No plugin takes records out of the hub. One that writes them to files is <code>[plugin.json-lines]</code>: set
                <code>enabled = true</code> in hub.conf, and <code>hub apply</code>.</p>\(Self.question)
                """)
        }
        return frame.page(
            Self.summary(state.sinks) + Self.table(state.sinks)
                + """
                <p class="faint">The records a sink wants are those that were delivered, wait, are tried again or were refused, older versions
                that a newer one has replaced, and records that it cannot take.</p>
                """ + Self.question)
    }

    /// A sentence that says whether a sink needs attention.
    private static func summary(_ sinks: [SinkStatus]) -> HTML {
        let unwell = sinks.filter { !$0.isWell }
        let waiting = sinks.reduce(0) { $0 + $1.pending + $1.retrying }
        guard unwell.isEmpty else {
            return """
                <p class="bad">\(NumberText.count(unwell.count, "sink needs", "sinks need")) you: \
                \(unwell.map(\.name).joined(separator: ", ")).</p>
                """
        }
        return waiting == 0
            ? "<p class=\"good\">Everything is delivered.</p>"
            : "<p>\(NumberText.count(waiting, "record waits", "records wait")) to be delivered; you need not do anything.</p>"
    }

    /// A row for each sink.
    static func table(_ sinks: [SinkStatus]) -> HTML {
        let columns = [
            "Sink", "State", "Wanted", "Delivered", "Waiting", "To try again", "Refused", "To know, or to do",
        ]
        return HTML.table("Sinks", columns, sinks) { sink in
            let counts: [HTML] = [sink.wanted, sink.delivered, sink.pending, sink.retrying, sink.refused].map {
                "\(NumberText.grouped($0))"
            }
            return [link(sink.name), lamp(sink)] + counts + ["\(LocalTime.inSentence(sink.note ?? ""))"]
        }
    }

    static func link(_ sink: String) -> HTML {
        "<a href=\"\(url: "/deliveries/sink?" + FormText.write([(name: "name", value: sink)]))\">\(sink)</a>"
    }

    static func lamp(_ sink: SinkStatus) -> HTML {
        sink.isWell ? "<span class=\"good\">well</span>" : "<span class=\"bad\">needs you</span>"
    }

    /// Redirects to the page of a record with its deliveries.
    static func record(_ request: Request) throws -> Response {
        guard let number = request.uri.queryParameters["number"].flatMap({ Int64($0) }), number > 0 else {
            throw RequestRefusal(
                .badRequest, "This is not the number of a record",
                "Each record has one: the first column of the page of its type, the last of hub samples.")
        }
        return PageAnswer.redirect(to: RecordDetailPage.path(number))
    }

    /// A form that leads to the page of a record with its deliveries.
    static let question: HTML = """
        <h2>One record</h2>
        <form class="entry" method="get" action="\(url: "/deliveries/record")">
        \(FormField(name: "number", label: "Its number").line("number", "min=\"1\" required inputmode=\"numeric\""))
        <button>Show its deliveries</button></form>
        """
}
