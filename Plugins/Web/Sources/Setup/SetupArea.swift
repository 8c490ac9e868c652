import Hummingbird
import PluginKit

/// The page Set up, with its forms.
struct SetupArea: SiteArea {
    private let parts: WebParts
    private let page: SetupPage
    private var changes: SectionChanges { page.changes }

    init(parts: WebParts) {
        self.parts = parts
        page = SetupPage(hub: parts.hub, changes: SectionChanges(parts: parts))
    }

    func add(to router: some RouterMethods<WebRequestContext>) {
        let (parts, page) = (parts, page)
        router.get("/setup") { request, visit in try await page.response(SelectedPerson(request, visit, parts)) }
        router.post("/setup") { request, visit in
            let choice = try SelectedPerson(request, visit, parts)
            return try await plan(try await WebForm.read(request, visit).0, choice)
        }
        router.post("/setup/save") { request, visit in
            let choice = try SelectedPerson(request, visit, parts)
            return try await page.changes.save(try await WebForm.read(request, visit).0, choice, from: "/setup")
        }
    }

    private func plan(_ form: WebForm, _ choice: SelectedPerson) async throws -> Response {
        if form.has("name") {
            let name = (form["name"] ?? "").split(separator: " ").joined(separator: " ")
            let person: EnteredPerson?
            do throws(PersonName.InvalidNames) {
                person = try PersonName.entered([name], besides: parts.hub.persons).first
            } catch {
                let typed = FormFields(values: ["name": name], faults: ["name": error.reason])
                return try await page.response(choice, .init(name: typed, text: "<p>Nothing was changed.</p>"))
            }
            var change = SectionChange(.person(person?.name ?? name))
            change.adds = true
            if let shown = person?.displayName { change.set["display_name"] = .string(shown) }
            return try await changes.plan(change, [], choice) { _, text in
                try await page.response(choice, .init(name: FormFields(values: ["name": name]), text: text))
            }
        }
        if let person = form["person"], !parts.hub.persons.contains(where: { $0.name == person }) { throw NoSuchPage() }
        let section = form["person"].map { ChangedSection.person($0) } ?? .hub
        guard OwnerGrants(parts.hub).have(.configure) else { return try await page.response(choice) }
        let fields = try await page.fields(of: section).map { $0.filled(from: form) }
        return try await changes.plan(SectionChange(section, fields: fields), fields, choice) { fields, text in
            try await page.response(choice, .init(section: section, fields: fields, text: text))
        }
    }
}
