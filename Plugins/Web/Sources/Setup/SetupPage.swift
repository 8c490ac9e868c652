import Hummingbird
import PluginKit

/// The questions of `hub setup` on a page: persons, the place of the household, and the plugins to run; for the owner.
struct SetupPage: Sendable {
    let parts: WebParts
    private var hub: PluginContext { parts.hub }
    private var changes: SectionChanges { SectionChanges(parts: parts) }

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

    /// Shows the plan of a form, or the form with its errors.
    func plan(_ form: WebForm, _ choice: SelectedPerson) async throws -> Response {
        if form.has("name") {
            let name = (form["name"] ?? "").split(separator: " ").joined(separator: " ")
            let person: EnteredPerson?
            do throws(PersonName.InvalidNames) {
                person = try PersonName.entered([name], besides: hub.persons).first
            } catch {
                let typed = FormFields(values: ["name": name], faults: ["name": error.reason])
                return try await response(choice, .init(name: typed, text: "<p>Nothing was changed.</p>"))
            }
            var change = SectionChange(.person(person?.name ?? name))
            change.adds = true
            if let shown = person?.displayName { change.set["display_name"] = .string(shown) }
            return try await changes.plan(change, [], choice) { _, text in
                try await response(choice, .init(name: FormFields(values: ["name": name]), text: text))
            }
        }
        if let person = form["person"], !hub.persons.contains(where: { $0.name == person }) { throw noSuchPage }
        let section = form["person"].map { ChangedSection.person($0) } ?? .hub
        guard parts.grants.have(.configure) else { return try await response(choice) }
        let fields = try await fields(of: section).map { $0.filled(from: form) }
        return try await changes.plan(SectionChange(section, fields: fields), fields, choice) { fields, text in
            try await response(choice, .init(section: section, fields: fields, text: text))
        }
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
                <form class="entry" method="post" action="\(url: "/setup")">\(hidden)
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
            <form class="entry" method="post" action="\(url: "/setup")">
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
