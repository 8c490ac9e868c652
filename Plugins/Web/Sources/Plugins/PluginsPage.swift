import HealthText
import Hummingbird
import PluginKit

/// The page Plugins: the state of each instance, with a button that may fix a problem.
struct PluginsPage: Sendable {
    let hub: PluginContext

    func response(_ choice: SelectedPerson) async throws -> Response {
        let frame = PageFrame(title: "Plugins", choice: choice, path: "/plugins")
        let grants = OwnerGrants(hub)
        if let denial = frame.denial(.status, grants, to: "How the plugins are") { return denial }
        let all = try await hub.pluginFacts()
        guard !all.isEmpty else {
            return frame.page(
                """
                <p>hub.conf has no plugin: <code>hub plugin search</code> finds those that there are, and \
                <code>hub plugin install</code> brings one.</p>
                """)
        }
        let hasSource = all.contains { facts in
            facts.condition.enabled && facts.name != hub.instance
                && facts.description?.grants?.write.types.isEmpty != true
        }
        let setup: HTML? =
            hasSource ? nil : "<p>No plugin that brings values is enabled: <a href=\"\(url: "/setup")\">set up</a>.</p>"
        let wrong = all.filter { !$0.isWell }
        let well = all.filter(\.isWell)
        let head: HTML =
            wrong.isEmpty
            ? "<p class=\"good\">All \(all.count) plugins are well, or not enabled.</p>"
            : "<p>\(NumberText.count(wrong.count, "plugin needs", "plugins need")) you, of \(all.count).</p>"
        let actions = PluginActions(grants: grants)
        let cards = HTML.each(wrong + well) { card($0, actions) }
        let note =
            grants.have(.plugins)
            ? HTML() : "<p class=\"faint\">\(grants.advice(.plugins, to: "What they read and share"))</p>"
        return frame.page(
            """
            \(head)\(setup)<ul class="boxes">\(cards)</ul>\(note)
            <p><a href="\(url: "/apply")">Preview the changes of hub.conf</a></p>
            """)
    }

    private func card(_ facts: PluginFacts, _ actions: PluginActions) -> HTML {
        """
        <li class="box"><h2><a href="\(url: PluginAddresses.of(facts.name))">\(facts.name)</a></h2>
        <p class="state">\(PluginStateText.state(facts))</p>
        \(facts.description?.summary.map { "<p class=\"faint\">\($0)</p>" } ?? HTML())
        \(PluginStateText.trouble(facts.condition))
        \((facts.description?.grants).map { "<p class=\"faint\">\(PluginStateText.shares($0))</p>" } ?? HTML())
        \(actions.repairs(facts))</li>

        """
    }
}

/// The state of an instance in words.
enum PluginStateText {
    static func state(_ facts: PluginFacts) -> HTML {
        let condition = facts.condition
        var words = [condition.state.rawValue]
        if let seconds = condition.restartIn { words.append("again in \(NumberText.duration(seconds: seconds))") }
        if condition.fresh == false { words.append("no record for a day") }
        if condition.delivering == false { words.append("deliveries wait") }
        if condition.remote == true { words.append("on another machine") }
        let text = words.joined(separator: ", ")
        guard facts.isWell else { return "<span class=\"bad\">\(text)</span>" }
        return condition.enabled ? "<span class=\"good\">\(text)</span>" : "\(text)"
    }

    /// The last error and the remedy.
    static func trouble(_ condition: PluginStatus) -> HTML {
        var lines: [HTML] = []
        if let advice = condition.advice { lines.append("<p>\(condition.name) \(LocalTime.inSentence(advice))</p>") }
        if let error = condition.lastError, condition.advice?.contains(error) != true {
            lines.append("<p class=\"faint\">Last error: \(LocalTime.inSentence(error))</p>")
        }
        for logIn in condition.tokens ?? [] where condition.enabled {
            if let advice = logIn.advice {
                lines.append("<p>\(logIn.user ?? logIn.account): \(LocalTime.inSentence(advice))</p>")
            }
        }
        return HTML.joined(lines, by: "")
    }

    static func shares(_ grants: PluginEntry.Grants) -> HTML {
        let parts = [("Reads", grants.read), ("shares", grants.write)].map { word, scope in "\(word) \(types(scope))" }
        return "\(parts.joined(separator: "; "))."
    }

    static func types(_ scope: PluginEntry.Scope) -> String {
        func name(_ text: String) -> String { (try? TypeID(text)).map(NameWords.type) ?? text }
        let denied = scope.denied.map { " but \($0.map(name).joined(separator: ", "))" } ?? ""
        if scope.types == ["*"] { return "all types\(denied)" }
        return scope.types.isEmpty ? "nothing" : scope.types.map(name).joined(separator: ", ")
    }
}

/// Buttons for an instance.
struct PluginActions: Sendable {
    let grants: OwnerGrants

    /// Buttons that may fix the problem, likeliest first.
    func repairs(_ facts: PluginFacts) -> HTML {
        let condition = facts.condition
        var parts: [HTML] = []
        if facts.needsLogIn, facts.has("login") {
            parts.append(
                "<a class=\"button main\" href=\"\(url: PluginAddresses.of(facts.name, "/login"))\">Log in</a>")
        }
        if [InstanceState.quarantined, .failed, .finished, .restarting].contains(condition.state) {
            parts.append(button(facts.name, "release", "Start again", right: .release))
        } else if condition.hasError == true || condition.state == .silent {
            parts.append(button(facts.name, "restart", "Restart", right: .restart))
        }
        if condition.isFallback == true || condition.state == .failed {
            parts.append("<a class=\"button\" href=\"\(url: PluginAddresses.of(facts.name))#settings\">Settings</a>")
        }
        return parts.isEmpty ? HTML() : "<div class=\"deeds\">\(HTML.joined(parts, by: ""))</div>"
    }

    /// A form with one button, or the advice that grants the right.
    func button(_ instance: String, _ deed: String, _ label: String, right: OwnerRight) -> HTML {
        guard grants.have(right) else { return "<p class=\"faint\">\(grants.advice(right, to: "\(label)"))</p>" }
        return HTML.button(
            PluginAddresses.of(instance, "/\(deed)"), "\(label)<span class=\"hidden\"> \(instance)</span>"
        )
    }
}
