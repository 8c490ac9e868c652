import Hummingbird
import PluginKit

/// The questions of `hub setup` on a page: persons, the place of the household, and the plugins to run; for the owner.
struct SetupPage: Sendable {
    let hub: PluginContext
    let changes: SectionChanges

    /// A refused form, as it was filled in.
    struct Refused {
        var section: ChangedSection?
        var fields: [SettingField] = []
        /// The fields for a new person.
        var name = FormFields()
        /// An error of the whole form.
        var text = HTML()
    }

    func response(_ choice: SelectedPerson, _ refused: Refused? = nil) async throws -> Response {
        let grants = OwnerGrants(hub)
        var content: HTML? = refused.map { "<div class=\"notice bad\" role=\"alert\">\($0.text)</div>" }
        if grants.have(.configure) {
            do { content = "\(content)\(try await forms(refused))" } catch let failure as CommandFailure {
                content = "\(content)<p class=\"bad\">\(failure.message)</p>"
            }
        } else {
            content = "\(content)<p>\(grants.advice(.configure, to: "Setting up"))</p>"
        }
        return PageFrame(title: "Set up", choice: choice, path: "/setup").page(
            "\(content)\(try await plugins(grants))", refused == nil ? .ok : .unprocessableContent)
    }

    /// The settings of a section, as in `hub.conf`.
    func fields(of section: ChangedSection) async throws -> [SettingField] {
        let settings = try await changes.settings(of: section)
        if case .person(let name) = section {
            return HouseholdSettings.configuredOfPersons.map { SettingField($0, settings[$0.name], in: name) }
        }
        // No person has this name.
        return [HouseholdSettings.zone].map { SettingField($0, settings[$0.name], in: "-house") }
    }

    private func forms(_ refused: Refused?) async throws -> HTML {
        func form(_ section: ChangedSection, _ hidden: HTML) async throws -> HTML {
            let fields = refused?.section == section ? refused?.fields ?? [] : try await fields(of: section)
            return """
                <form class="entry" method="post" action="/setup">\(hidden)
                \(HTML.each(fields) { $0.html(isEnabled: true) })
                <button>Show what would change<span class="hidden"> of \(section.title)</span></button></form>
                """
        }
        var persons = HTML()
        for person in hub.persons {
            let form = try await form(.person(person.name), FormFields.hidden("person", person.name))
            persons += "<h3>\(person.bothNames)</h3>\(form)"
        }
        return """
            <h2>People</h2>\(persons)
            <form class="entry" method="post" action="/setup">
            \((refused?.name ?? FormFields()).line("name", "Another person", hint: "A name in any letters; the section gets one in plain letters. Only you take it out again, in hub.conf.", isNeeded: true))
            <button>Add …</button></form>
            <h2>The house</h2>\(try await form(.hub, HTML()))
            """
    }

    private func plugins(_ grants: OwnerGrants) async throws -> HTML {
        guard grants.have(.status) else {
            return "<h2>Plugins</h2><p>\(grants.advice(.status, to: "Which there are"))</p>"
        }
        let waiting = try await hub.pluginFacts().filter { !$0.condition.enabled }
        let list = HTML.each(waiting) { facts in
            "<li><a href=\"\(url: PluginAddresses.of(facts.name))#settings\">\(facts.name)</a>\(facts.description?.summary.map { ": \($0)" as HTML })</li>"
        }
        let text: HTML =
            waiting.isEmpty
            ? "<p>All plugins of hub.conf are enabled: <code>hub plugin search</code> finds others.</p>"
            : "<p>These are in hub.conf and not enabled; each has its settings and <em>Enable …</em> on its page.</p><ul>\(list)</ul>"
        return "<h2>Plugins</h2>\(text)"
    }
}
