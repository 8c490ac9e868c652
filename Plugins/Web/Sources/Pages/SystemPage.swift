import HTMLText
import HealthText
import Hummingbird
import PluginKit

/// The page System.
struct SystemArea: SiteArea {
    let parts: WebParts

    func add(to router: some RouterMethods<Visit>) {
        router.get("/system") { request, visit in
            try await SystemPage(hub: parts.hub).response(Choice(request, visit, parts))
        }
    }
}

/// How the hub and its plugins are; for the owner.
struct SystemPage: Sendable {
    /// What of the answer to `status` this page shows.
    private struct Status: Decodable {
        struct Store: Decodable {
            var state: String
            var error, warning: String?
        }
        struct Plugin: Decodable {
            var name, state: String
            var alive: Bool
            var fresh, delivering: Bool?
            var lastError, advice: String?
        }
        struct Sink: Decodable {
            var name: String
            var note: String?
            var wanted, delivered, pending, retrying, refused: Int64
        }
        var version: String
        var uptime: Double
        var records, inbox, implausible: Int64?
        var store: Store
        var plugins: [Plugin]
        var sinks: [Sink]
    }

    let hub: PluginContext

    func response(_ choice: Choice) async throws -> Response {
        guard choice.viewer.isOwner else { throw NoSuchPage() }
        let status = try await hub.ask(.status, as: Status.self)
        return PageAnswer.page(
            Frame(title: "System", choice: choice, path: "/system").html(
                facts(status) + plugins(status.plugins) + deliveries(status.sinks)))
    }

    private func facts(_ status: Status) -> HTML {
        let records = status.records.map { NumberText.grouped($0) } ?? "not known: the store cannot be read"
        let state =
            status.store.state
            + [status.store.error, status.store.warning].compactMap { $0.map { ": \($0)" } }.joined()
        let inbox = [
            status.inbox.map { "\(NumberText.grouped($0)) without a person" },
            status.implausible.map { "\(NumberText.grouped($0)) implausible" },
        ].compactMap(\.self)
        return """
            <dl><dt>Version</dt><dd>\(status.version), up \(NumberText.duration(seconds: status.uptime))</dd>
            <dt>Store</dt><dd>\(state)</dd><dt>Records</dt><dd>\(records)</dd>
            <dt>Inbox</dt><dd>\(inbox.joined(separator: ", "))</dd></dl>
            """
    }

    private func plugins(_ plugins: [Status.Plugin]) -> HTML {
        var table = HTMLTable(
            caption: "Plugins", columns: ["Plugin", "State", "Alive", "Fresh", "Delivering", "To do"])
        for plugin in plugins {
            table.rows.append([
                "\(plugin.name)", "\(plugin.state)", Self.lamp(plugin.alive), Self.lamp(plugin.fresh),
                Self.lamp(plugin.delivering), "\(plugin.advice ?? plugin.lastError ?? "")",
            ])
        }
        return table.html
    }

    private func deliveries(_ sinks: [Status.Sink]) -> HTML {
        guard !sinks.isEmpty else { return "<p>No plugin takes records out of the hub.</p>" }
        var table = HTMLTable(
            caption: "Deliveries", columns: ["Sink", "Wanted", "Delivered", "Pending", "Retrying", "Refused", "Note"])
        for sink in sinks {
            let counts: [HTML] = [sink.wanted, sink.delivered, sink.pending, sink.retrying, sink.refused].map {
                "\(NumberText.grouped($0))"
            }
            table.rows.append(["\(sink.name)"] + counts + ["\(sink.note ?? "")"])
        }
        return table.html
    }

    private static func lamp(_ isOn: Bool?) -> HTML {
        switch isOn {
        case true: "<span class=\"good\">yes</span>"
        case false: "<span class=\"bad\">no</span>"
        case nil: "–"
        }
    }
}
