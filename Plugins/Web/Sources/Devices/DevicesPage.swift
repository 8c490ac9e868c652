import HealthText
import Hummingbird
import PluginKit

/// The state of the devices that plugins have reported, with remedies.
struct DevicesPage: Sendable {
    static let path = "/devices"
    /// The plugin kind whose device has users.
    static let withUsers = "ihealth-hs5"

    let hub: PluginContext

    func response(_ choice: SelectedPerson) async throws -> Response {
        let state = try await hub.hubStatus()
        let frame = PageFrame(title: "Devices", choice: choice, path: Self.path)
        let scales = state.plugins.filter { $0.kind == Self.withUsers && $0.enabled }
        let users = HTML.each(scales) { plugin in
            "<p><a class=\"button\" href=\"\(url: ScaleUsersPage.path(plugin.name))\">Users of \(plugin.name)</a></p>"
        }
        guard !state.devices.isEmpty else {
            return frame.page(
                """
                <p>No plugin has told of a device yet. A scale's plugin does when the scale is switched on for the first time:
                step on it. Plugins are enabled in hub.conf.</p>\(users)
                """)
        }
        let cards = HTML.each(state.devices) { device in
            card(device, state.plugins.first { $0.name == device.instance })
        }
        return frame.page("<ul class=\"boxes\">\(cards)</ul>\(users)")
    }

    private func card(_ device: HubStatus.DeviceStatus, _ plugin: PluginStatus?) -> HTML {
        let state: HTML =
            switch device.connected {
            case true: "<span class=\"good\">connected</span>"
            case false: "away: it sleeps, is out of reach, or is switched off"
            case nil: "not known since the hub was started"
            }
        var battery: HTML = "it does not say"
        if let percent = device.battery {
            battery =
                "<meter aria-label=\"Battery\" min=\"0\" max=\"100\" low=\"20\" value=\"\(percent)\">\(percent) %</meter> \(percent) %"
        }
        if device.batteryLow {
            battery =
                "\(device.battery == nil ? HTML() : battery + ", ")<span class=\"bad\">low: change the batteries</span>"
        }
        let fault: HTML =
            device.lastError.map { error -> HTML in
                let time = device.lastErrorAt.flatMap { LocalTime.text($0) }.map { " (\($0))" } ?? ""
                return
                    "<dt>\(device.lastErrorSeverity == "warning" ? "Warning" : "Error")</dt><dd class=\"bad\">\(error)\(time)</dd>"
            } ?? HTML()
        return """
            <li class="box"><h2>\(device.device)</h2><dl><dt>Plugin</dt><dd>\(device.instance), \(plugin?.state.rawValue ?? "no longer in hub.conf")</dd>
            <dt>State</dt><dd>\(state)</dd><dt>Battery</dt><dd>\(battery)</dd>
            <dt>Last heard</dt><dd>\(device.lastHeard.flatMap { LocalTime.text($0) } ?? "not known")</dd>\(fault)\
            \((plugin?.advice).map { "<dt>To do</dt><dd>\(LocalTime.inSentence($0))</dd>" } ?? HTML())</dl></li>
            """
    }
}
