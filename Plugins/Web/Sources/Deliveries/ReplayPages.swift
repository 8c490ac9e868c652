import Foundation
import HTTPTypes
import HealthText
import Hummingbird
import PluginKit

/// Delivers records again: shows the number first, then does it.
struct ReplayPages: Sendable {
    /// A request to deliver records again.
    private struct Order {
        var sink: String
        /// In the form `yyyy-MM-dd`; nil for all.
        var from: String?
        var type: String?
        let arguments: [String: SettingValue]

        /// - Parameter zone: the zone of the day.
        init(in zone: TimeZone, _ field: (String) -> String?) throws {
            guard let sink = field("sink") else {
                throw RequestRefusal(
                    .badRequest, "The form lacks sink", "Open the page of a sink, and fill it in there.")
            }
            (self.sink, from, type) = (sink, field("from"), field("type"))
            var arguments: [String: SettingValue] = ["to": .string(sink)]
            if let from { arguments["from"] = .string(try Self.start(of: from, in: zone)) }
            if let type {
                guard
                    let known = TypeRegistry.standard.resolve(type)?.id.rawValue ?? (type.hasPrefix("x.") ? type : nil)
                else {
                    throw RequestRefusal(
                        .badRequest, "There is no type \(type.prefix(128))",
                        "type takes the name of a type, such as weight; leave it empty for all.")
                }
                arguments["types"] = .list([.string(known)])
            }
            self.arguments = arguments
        }

        private static func start(of day: String, in zone: TimeZone) throws -> String {
            guard let date = LocalDate(day), (1970...9999).contains(date.year) else {
                throw RequestRefusal(
                    .badRequest, "\(day.prefix(32)) is not a day",
                    "from takes a day such as 2026-03-15; leave it empty for all.")
            }
            return LocalDay.start(of: date, in: zone).text
        }
    }

    let parts: WebParts

    /// The form that leads to the plan.
    static func question(_ sink: String) -> HTML {
        """
        <h2>Deliver again</h2>
        <p>For a file that was lost, or a cloud that forgot. Records that wait for the sink already, or that it does not ask for, are left out.</p>
        <form class="entry" method="get" action="\(url: "/deliveries/replay")">\(FormFields.hidden("sink", sink))
        \(FormField(name: "from", label: "Records that end on this day or later", hint: "All, if it is empty.").line("date"))
        \(FormFields().line("type", "Of this type", hint: "Such as weight; all, if it is empty."))
        <button>Show what would be delivered</button></form>
        """
    }

    /// Shows the plan of a replay.
    func plan(_ request: Request, _ choice: SelectedPerson) async throws -> Response {
        let order = try Order(in: zone) { name in
            request.uri.queryParameters[Substring(name)].map(String.init).flatMap(Self.filled)
        }
        let entries = try await replay(order, isDryRun: true)
        let total = entries.reduce(0) { $0 + $1.records }
        let lines = HTML.each(entries) { entry in
            "<li>\(DeliveriesPage.link(entry.sink)): \(NumberText.count(entry.records, "record")) would be delivered again</li>"
        }
        let what = [order.type.map { "of type \($0)" }, order.from.map { "that end on \($0) or later" }].compactMap(
            \.self)
        let form: HTML =
            total == 0
            ? "<p>There is nothing to deliver again.</p>"
            : HTML.button(
                "/deliveries/replay", "Deliver \(NumberText.count(total, "record")) again",
                [("sink", order.sink), ("from", order.from ?? ""), ("type", order.type ?? "")], isMain: true
            )
        return PageFrame(title: "Deliver again to \(order.sink)", choice: choice, path: "/deliveries").page(
            """
            <p>Records \(what.isEmpty ? "of all types and times" : what.joined(separator: ", ")), in their current version:</p>
            <ul>\(lines)</ul>\(form)
            <p>\(DeliveriesPage.link(entries.first?.sink ?? order.sink))</p>
            """)
    }

    func run(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let order = try Order(in: zone) { form[$0] }
        let entries = try await replay(order, isDryRun: false)
        let words = entries.map { "\($0.sink): \(NumberText.count($0.records, "record")) to be delivered again" }
        let name = entries.count == 1 ? entries[0].sink : nil
        return parts.told(
            "\(words.joined(separator: "; "))", viewer,
            on: name.map { "/deliveries/sink?" + FormText.write([(name: "name", value: $0)]) } ?? "/deliveries")
    }

    /// The zone for days: that of the only person, or the machine's, because a sink may have records of several persons.
    private var zone: TimeZone { parts.persons.count == 1 ? parts.persons[0].reader.zone ?? .current : .current }

    private static func filled(_ text: String) -> String? {
        text.contains { !$0.isWhitespace } ? text : nil
    }

    /// Time limit of a page; the hub may continue after it, or give up.
    private static let patience = Duration.seconds(60)

    private func replay(_ order: Order, isDryRun: Bool) async throws -> [SinkRecords] {
        try await parts.hub.run(OwnCommands.Replay.self, order.arguments, isDryRun: isDryRun, deadline: Self.patience)
            .sinks
    }
}
