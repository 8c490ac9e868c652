import HealthText
import Hummingbird
import PluginKit
import Samples

/// The page Preferences: the units in which a person reads values.
struct PreferencesPage: Sendable {
    private static let path = "/preferences"
    /// Types offered to everyone; others are offered if the person has values.
    private static let usual: [TypeID] = [.weight, .height, .bodyTemperature, .bloodGlucose, .distanceWalkingRunning]

    let parts: WebParts

    func show(_ choice: SelectedPerson) async throws -> Response {
        let frame = PageFrame(title: "Preferences", choice: choice, path: Self.path)
        guard let person = choice.person else {
            return frame.page("<p>There is no person whose values could be read.</p>")
        }
        var fields = FormFields(values: parts.preferences.units(of: person.name))
        let types = try await types(of: person)
        for type in types where fields.values[type.id.rawValue] == nil { fields.values[type.id.rawValue] = "" }
        let own = parts.hub.persons.first { $0.name == person.name }?.reader ?? DisplayPreferences()
        let choices = HTML.each(types) { type in
            let usual = own.unit(type.unit ?? "", of: type)
            let options =
                [FormOption(value: "", text: "As hub.conf says (\(Units.label(usual)))")]
                + Units.of(type).map { FormOption(value: $0, text: Units.label($0)) }
            return fields.choice(type.id.rawValue, NameWords.type(type.id), options)
        }
        return frame.page(
            """
            <p>In which units \(person.shownName) reads values on these pages. Elsewhere, such as in <code>hub samples</code> and on
            scales, <code>units</code> in <code>[person.\(person.name)]</code> of hub.conf still decides.</p>
            <form class="entry" method="post" action="\(url: Self.address(of: person.name))">
            \(choices)<p><button class="main">Save</button></p></form>
            """)
    }

    private static func address(of person: String) -> String {
        "\(path)?" + FormText.write([(name: "person", value: person)])
    }

    /// The offered types that have more than one unit.
    private func types(of person: Welcome.PersonEntry) async throws -> [HealthType] {
        let found = try await parts.reader.latest(of: person).map(\.type)
        var types: [HealthType] = []
        for id in Self.usual + found {
            guard let type = TypeRegistry.standard.type(id), Units.of(type).count > 1,
                !types.contains(where: { $0.id == id })
            else { continue }
            types.append(type)
        }
        return types
    }

    func save(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        guard let person = try SelectedPerson(request, visit, parts).person else { throw noSuchPage }
        let before = parts.preferences.units(of: person.name)
        try await parts.preferences.set(
            try Units.changed(before, by: form.others.map { ($0.name, $0.text) }), of: person.name)
        return parts.told("Saved: these pages show it so from now on.", viewer, on: Self.address(of: person.name))
    }
}

/// The units in which a type can be read.
enum Units {
    /// In people's spelling, the usual one first.
    static func of(_ type: HealthType) -> [String] {
        var units: [String] = []
        for unit in type.typicalDisplayUnits + [type.unit].compactMap(\.self) {
            // `ft+in` are feet with inches.
            let spelling = PeopleUnit(unit == "ft+in" ? "ft" : unit).spelling
            if !units.contains(spelling) { units.append(spelling) }
        }
        return units
    }

    /// The units after a choice; an empty choice restores the unit of `hub.conf`.
    ///
    /// - Throws: ``RequestRefusal`` for a unit that the type does not have.
    static func changed(
        _ units: [String: String], by chosen: [(name: String, unit: String?)]
    ) throws -> [String: String] {
        var units = units
        for (name, unit) in chosen {
            let known = TypeRegistry.standard.type(try? TypeID(name)).map(of) ?? []
            guard let unit, unit.isEmpty ? !known.isEmpty : known.contains(unit) else {
                throw RequestRefusal(
                    .badRequest, "\(name): there is no such unit",
                    "\(name): \(known.isEmpty ? "it is no type with units" : "it is read in \(known.joined(separator: ", "))").",
                    member: name)
            }
            units[name] = unit.isEmpty ? nil : unit
        }
        return units
    }

    static func label(_ unit: String) -> String {
        let unit = PeopleUnit(unit)
        let name = unit.plural.isEmpty ? unit.spelling : unit.plural
        return unit.symbol.isEmpty || unit.symbol == name ? name : "\(unit.symbol) (\(name))"
    }
}

extension TypeRegistry {
    /// Nil for a text that is not a type.
    fileprivate func type(_ id: TypeID?) -> HealthType? { id.flatMap { type($0) } }
}
