import HealthText
import Hummingbird
import PluginKit

/// The state of the hub, its store and its plugins, with remedies.
struct SystemPage: Sendable {
    let parts: WebParts

    func response(_ choice: SelectedPerson) async throws -> Response {
        let state = try await parts.hub.hubStatus()
        let browsers = try await parts.access.sessions(at: parts.now)
        return PageFrame(title: "System", choice: choice, path: "/system").page(
            Self.findings(state.findings) + Self.hub(state) + Self.store(state)
                + Self.plugins(state) + Self.deliveries(state.sinks) + Self.sessions(state.sessions, browsers))
    }

    // MARK: - Findings

    private static func findings(_ found: [StatusFinding]) -> HTML {
        let lines = HTML.each(found) { finding in
            let repair: HTML? = finding.repair.map { "<br><code>\($0)</code>" }
            return "<li>\(word(finding.severity)) \(LocalTime.inSentence(finding.text))\(repair)</li>"
        }
        return """
            <h2>Findings of the hub</h2><ul class="findings">\(lines)</ul>
            <p class="faint">These are the hub's own findings. Only <code>hub doctor</code> on its machine sees hub.conf, the modes of files,
            the kind of disk, the clock, the service, Bluetooth and damage in the store, and only <code>hub backup --verify FILE</code> reads
            a backup from end to end.</p>
            """
    }

    private static func word(_ severity: StatusFinding.Severity) -> HTML {
        switch severity {
        case .good: "<span class=\"good\">well:</span>"
        case .note: "note:"
        case .warning: "<span class=\"bad\">warning:</span>"
        case .error: "<span class=\"bad\">error:</span>"
        }
    }

    // MARK: - The hub and its store

    private static func hub(_ state: HubStatus) -> HTML {
        let limit = state.memory?.limit.map { " of \(NumberText.bytes($0)) that it may take" } ?? ""
        var facts = [
            ("Version", "\(state.version), up \(NumberText.duration(seconds: state.uptime))"),
            ("Memory", NumberText.bytes(state.residentBytes) + limit), ("Newest", "\(state.epoch)-\(state.head)"),
        ]
        if state.clock != "system" { facts.append(("Clock", state.clock)) }
        return "<h2>Hub</h2>" + list(facts)
    }

    private static func store(_ state: HubStatus) -> HTML {
        let store = state.store
        let faults = [store.error, store.warning].compactMap { $0.map { ": " + LocalTime.inSentence($0) } }.joined()
        let lamp: HTML = store.isWell ? "<span class=\"good\">ok</span>" : "<span class=\"bad\">\(store.state)</span>"
        var records = state.records.map { NumberText.count($0, "record") } ?? "not known: the store cannot be read"
        if let inbox = state.inbox, inbox > 0 { records += ", \(NumberText.grouped(inbox)) waiting for a person" }
        if let count = state.implausible, count > 0 { records += ", \(NumberText.grouped(count)) implausible" }
        var facts = [("Records", records), ("File", store.path)]
        if let size = store.size {
            let log = store.log.map { $0 > 0 ? ", and a log of \(NumberText.bytes($0))" : "" } ?? ""
            facts.append(("Size", NumberText.bytes(size) + log))
        }
        if let free = store.free { facts.append(("Free on its disk", NumberText.bytes(free))) }
        facts.append(("Read again", check(store.check)))
        facts.append(("Backup", backup(state)))
        facts += erasure(state.erasure)
        return "<h2>Store</h2><p>\(lamp)\(faults)</p>" + list(facts)
    }

    private static func check(_ check: HubStatus.Check?) -> String {
        guard let check, check.pages > 0 else {
            return "not begun; the hub reads all of it within a week, again and again"
        }
        let part = "\(check.read * 100 / check.pages) % of this round"
        return check.whole.flatMap { LocalTime.text($0) }.map { "all was whole at \($0); \(part)" } ?? part
    }

    private static func backup(_ state: HubStatus) -> String {
        guard let backup = state.backup else {
            return "none that the hub knows of: hub backup DIRECTORY makes one, also while the hub runs"
        }
        let age = state.age(of: backup.time).map { "\(NumberText.duration(seconds: $0)) ago, " } ?? ""
        let behind =
            backup.behind.map { $0 > 0 ? "; \(NumberText.count($0, "change")) since" : "; nothing changed since" } ?? ""
        return "\(age)\(backup.path)\(behind)"
    }

    private static func erasure(_ erasure: HubStatus.Erasure?) -> [(String, String)] {
        guard let erasure else { return [] }
        var facts: [(String, String)] = []
        if let left = erasure.left { facts.append(("Being erased", NumberText.count(left, "record"))) }
        if let erased = erasure.erased { facts.append(("Erased", erased)) }
        if let failed = erasure.failed {
            facts.append(("Not erased", "\(NumberText.count(failed, "record")), tried again every hour"))
        }
        return facts
    }

    // MARK: - Plugins, sinks, sessions

    private static func plugins(_ state: HubStatus) -> HTML {
        let columns = ["Plugin", "Version", "State", "Alive", "Fresh", "Delivering", "Restarts", "To do"]
        let table = HTML.table("Those of hub.conf", columns, state.plugins) { plugin in
            [
                "<a href=\"\(url: PluginAddresses.of(plugin.name))\">\(plugin.name)</a>",
                "\(state.version(of: plugin.name) ?? "–")", "\(plugin.state.rawValue)",
                plugin.enabled ? lamp(plugin.alive) : "–", lamp(plugin.fresh), lamp(plugin.delivering),
                "\(plugin.restarts)", "\(LocalTime.inSentence(plugin.advice ?? plugin.lastError ?? ""))",
            ]
        }
        return """
            <h2>Plugins</h2>\(table)<p><a href="\(url: "/apply")">Preview the changes of hub.conf</a></p>
            <p><a href="\(url: "/setup")">People, the house and plugins that wait: set up</a></p>
            """
    }

    private static func lamp(_ isOn: Bool?) -> HTML {
        switch isOn {
        case true: "<span class=\"good\">yes</span>"
        case false: "<span class=\"bad\">no</span>"
        case nil: "–"
        }
    }

    private static func deliveries(_ sinks: [SinkStatus]) -> HTML {
        let unwell = sinks.count { !$0.isWell }
        let text: HTML =
            sinks.isEmpty
            ? "No plugin takes records out of the hub."
            : unwell == 0
                ? "\(NumberText.count(sinks.count, "sink")), all well."
                : "<span class=\"bad\">\(NumberText.count(unwell, "sink needs", "sinks need")) you.</span>"
        return "<h2>Deliveries</h2><p>\(text) <a href=\"\(url: "/deliveries")\">The account of each</a></p>"
    }

    private static func sessions(_ programs: [HubStatus.SessionStatus], _ browsers: [(name: String, grant: Grant)])
        -> HTML
    {
        let table = HTML.table("Browsers that are logged in", ["Browser", "Sees", "Since", "Until"], browsers) {
            [
                "\($0.name)", "\($0.grant.person ?? "everything")", "\(LocalTime.text($0.grant.made))",
                "\(LocalTime.text($0.grant.until))",
            ]
        }
        let columns = ["Instance", "Program", "Version", "Comes as"]
        let clients = HTML.table("Programs that have a session", columns, programs) {
            ["\($0.instance)", "\($0.plugin)", "\($0.version)", "\($0.endpoint), \($0.mode)"]
        }
        return "<h2>Sessions</h2>\(table)<p><code>hub web end</code> logs browsers out.</p>\(clients)"
    }

    private static func list(_ facts: [(String, String)]) -> HTML {
        "<dl>\(HTML.each(facts) { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" })</dl>"
    }
}
