import HealthText
import Hummingbird
import PluginKit

/// The page of an instance: its state, its grants, its settings as a form, and its commands.
struct PluginPage: Sendable {
    let hub: PluginContext

    func response(_ name: String?, _ choice: SelectedPerson) async throws -> Response {
        let frame = PageFrame(title: "Plugins", choice: choice, path: "/plugins")
        if let denial = frame.denial(.status, OwnerGrants(hub), to: "How the plugins are") { return denial }
        return page(try await hub.pluginFacts(of: name), choice)
    }

    /// - Parameters:
    ///   - fields: as a person has filled them in; nil for the present settings.
    ///   - refusal: an error of the whole form.
    func page(
        _ facts: PluginFacts, _ choice: SelectedPerson, fields: [SettingField]? = nil, refusal: HTML? = nil
    ) -> Response {
        let grants = OwnerGrants(hub)
        let actions = PluginActions(grants: grants)
        let frame = PageFrame(title: facts.name, choice: choice, path: "/plugins/\(facts.name)")
        return frame.page(
            """
            <p><a href="\(url: "/plugins")">All plugins</a></p>
            \(refusal.map { "<div class=\"notice bad\" role=\"alert\">\($0)</div>" } ?? HTML())
            <p class="state">\(PluginStateText.state(facts))</p>
            \(PluginStateText.trouble(facts.condition))
            <div class="deeds">\(buttons(facts, actions))</div>
            \(self.facts(facts))
            \(settings(facts, fields, grants))
            \(commands(facts, grants))
            """, refusal == nil ? .ok : .unprocessableContent)
    }

    private func buttons(_ facts: PluginFacts, _ actions: PluginActions) -> HTML {
        var parts: [HTML] = []
        if facts.has("login") {
            parts.append("<a class=\"button\" href=\"\(url: PluginAddresses.of(facts.name, "/login"))\">Log in</a>")
        }
        if facts.condition.enabled, facts.condition.remote != true {
            let waits: [InstanceState] = [.quarantined, .failed, .finished, .restarting, .resting]
            parts.append(
                waits.contains(facts.condition.state)
                    ? actions.button(facts.name, "release", "Start again", right: .release)
                    : actions.button(facts.name, "restart", "Restart", right: .restart))
        }
        parts.append("<a class=\"button\" href=\"\(url: PluginAddresses.of(facts.name, "/logs"))\">Log lines</a>")
        return HTML.joined(parts, by: "")
    }

    private func facts(_ facts: PluginFacts) -> HTML {
        let condition = facts.condition
        var rows: [(String, String)] = [("Kind", condition.kind)]
        if let description = facts.description {
            if let summary = description.summary { rows.append(("What", summary)) }
            if let version = description.version { rows.append(("Version", version)) }
            if let grants = description.grants {
                rows.append(("Reads", PluginStateText.types(grants.read)))
                rows.append(("Shares", PluginStateText.types(grants.write)))
            }
            rows.append(("Persons", description.persons?.joined(separator: ", ") ?? "all"))
            if condition.remote != true {
                let reached = description.reaches.map { $0.isEmpty ? "" : "; reaches \($0.joined(separator: ", "))" }
                rows.append(
                    (
                        "Confined",
                        description.isolation == nil
                            ? "no: it may do all that the hub's user may" : "yes\(reached ?? "")"
                    ))
            }
            if let tier = description.tier { rows.append(("Examined", tier.tier)) }
            if let fault = description.fault { rows.append(("Fault", fault)) }
        }
        for logIn in condition.tokens ?? [] {
            let until = logIn.expires.flatMap { LocalTime.text($0) }.map { ", until \($0)" } ?? ""
            let advice = logIn.advice.map { ": \(LocalTime.inSentence($0))" }
            rows.append(("Log-in", "\(logIn.user ?? logIn.account)\(advice ?? until)"))
        }
        rows.append(("Records", "\(NumberText.grouped(condition.records)) since the hub was started"))
        if let last = condition.lastRecord.flatMap({ LocalTime.text($0) }) { rows.append(("Last record", last)) }
        if condition.restarts > 0 { rows.append(("Restarts", NumberText.grouped(condition.restarts))) }
        return "<dl>\(HTML.each(rows) { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" })</dl>"
    }

    // MARK: - Settings

    private func settings(_ facts: PluginFacts, _ fields: [SettingField]?, _ grants: OwnerGrants) -> HTML {
        let action = PluginAddresses.of(facts.name, "/change")
        guard grants.have(.plugins) else {
            return "<h2 id=\"settings\">Settings</h2><p>\(grants.advice(.plugins, to: "Its settings"))</p>"
        }
        guard let description = facts.description else {
            return """
                <h2 id="settings">Settings</h2><p>Its section of hub.conf has errors, or its program prints no manifest: \
                <a href="\(url: "/apply")">hub.conf as the hub reads it</a> shows the errors.</p>
                """
        }
        let fields = fields ?? SettingField.all(of: description)
        let mayChange = grants.have(.configure) && facts.name != hub.instance
        let reason: HTML =
            facts.name == hub.instance
            ? "<p class=\"faint\">This is the page itself: <code>hub configure \(facts.name) key=value</code> changes it.</p>"
            : grants.have(.configure)
                ? HTML() : "<p class=\"faint\">\(grants.advice(.configure, to: "Changing settings"))</p>"
        let toggle: HTML =
            mayChange
            ? HTML.button(
                action, facts.condition.enabled ? "Disable …" : "Enable …", [("enabled", "\(!facts.condition.enabled)")]
            ) : HTML()
        guard !fields.isEmpty else { return "<h2 id=\"settings\">Settings</h2><p>It has none.</p>\(reason)\(toggle)" }
        let inputs = HTML.each(fields) { $0.html(isEnabled: mayChange) }
        let submit: HTML = mayChange ? "<button class=\"main\">Show what would change</button>" : HTML()
        return """
            <h2 id="settings">Settings</h2>\(reason)
            <form class="entry" method="post" action="\(url: action)">
            \(inputs)\(submit)</form>
            \(toggle)
            """
    }

    // MARK: - Commands

    private func commands(_ facts: PluginFacts, _ grants: OwnerGrants) -> HTML {
        let commands = (facts.description?.commands ?? []).filter { !["login", "logout"].contains($0.name) }
        guard !commands.isEmpty else { return HTML() }
        let forms = grants.shown(.commands, to: "Asking plugins to do something") {
            HTML.each(commands) { command in
                """
                <details><summary>\(command.name): \(command.help)</summary>
                <form class="entry" method="post" action="\(url: PluginAddresses.of(facts.name, "/do/\(command.name)"))">
                \(HTML.each(command.arguments) { SettingField(argument: $0, of: command.name).html(isEnabled: true) })\
                <button>Do it</button></form></details>

                """
            }
        }
        return "<h2>Commands</h2>\(forms)"
    }
}
