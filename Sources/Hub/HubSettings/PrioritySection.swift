public import HubWire
public import Samples

/// A table `[priority.<name>]`: the order of sources if several have measured the same.
public struct PrioritySection: Sendable, Hashable {
    /// The name of the table.
    public var name: String
    /// The types that it applies to; nil: all.
    public var types: [TypeID]?
    /// The names of the persons that it applies to; nil: all.
    public var persons: Set<String>?
    /// The best first: a kind of plugin, or `kind/device`.
    public var sources: [String]

    /// Makes a table of these values without checks.
    public init(name: String, types: [TypeID]? = nil, persons: Set<String>? = nil, sources: [String]) {
        (self.name, self.types, self.persons, self.sources) = (name, types, persons, sources)
    }

    /// Whether it applies to this type and person.
    public func concerns(_ type: TypeID, of person: String) -> Bool {
        types?.contains(type) ?? true && persons?.contains(person) ?? true
    }
}

extension [PrioritySection] {
    /// The order of sources for a type and a person: that of the first table that applies to them.
    public func sources(of type: TypeID, _ person: String) -> [String] {
        first { $0.concerns(type, of: person) }?.sources ?? []
    }
}

extension HubConfiguration {
    /// The settings of `[priority.<name>]`.
    public static let priorityDeclarations: [SettingDeclaration] = [
        .init("types", .list(of: .string()), help: "Types that the order is for; all if not set."),
        .init("persons", .list(of: .string()), help: "Persons that it is for; all if not set."),
        .init(
            "sources", .list(of: .string()), help: "Kinds of plugins, or KIND/DEVICE: the best first.", required: true),
    ]
}

extension ConfigurationReader {
    /// Reads an order; returns nil after reporting its mistakes.
    mutating func priority(_ field: Field) -> PrioritySection? {
        guard case .table(let fields) = field.entry.node else { return nil }
        let table = "priority.\(field.name)"
        let before = checker.problems.count
        let values = checker.values(
            of: fields, table: table, declarations: HubConfiguration.priorityDeclarations,
            header: field.entry.position)
        func place(_ key: String) -> SourcePosition {
            fields.first { $0.name == key }?.entry.position ?? field.entry.position
        }
        let sources = values["sources"]?.strings ?? []
        for key in ["types", "persons", "sources"] where values[key]?.strings?.isEmpty == true {
            checker.report(at: place(key), table: table, key: key, "expected at least one")
        }
        for (index, source) in sources.enumerated() where sources[..<index].contains(source) {
            checker.report(
                at: place("sources"), table: table, key: "sources", found: tomlQuoted(source), "it is named twice")
        }
        let types = values["types"]?.strings.map { names in
            names.compactMap { type($0, at: place("types"), table: table, key: "types") }
        }
        let persons = values["persons"]?.strings.map { [known = self.persons] names in
            Set(names.map { known.named($0)?.name ?? $0 })
        }
        for person in (persons ?? []).sorted() where !personPlaces.keys.contains(person) {
            checker.report(
                at: place("persons"), table: table, key: "persons", found: tomlQuoted(person),
                "there is no [person.\(person)]", suggestion: nearestName(to: person, among: personPlaces.keys.sorted())
            )
        }
        guard !Array(checker.problems[before...]).hasErrors else { return nil }
        let section = PrioritySection(name: field.name, types: types, persons: persons, sources: sources)
        priorityPlaces.append((section, field.entry.position, place("sources")))
        return section
    }

    /// Finds a type by any of its names; returns nil after reporting an unknown one.
    mutating func type(_ name: String, at position: SourcePosition, table: String, key: String) -> TypeID? {
        let known = TypeRegistry.standard.resolve(name)?.id
        let own = (try? TypeID(name)).flatMap { $0.form == .vendor || $0.form == .healthConnect ? $0 : nil }
        if let type = known ?? own { return type }
        checker.report(
            at: position, table: table, key: key, found: tomlQuoted(name), "there is no such type",
            suggestion: TypeRegistry.standard.suggestion(for: name)?.rawValue)
        return nil
    }

    /// Reports sources of unknown kinds, and orders that an earlier one covers: the first of the file counts.
    mutating func reportCoveredPriorities() {
        for (index, later) in priorityPlaces.enumerated() {
            for source in later.section.sources {
                let kind = String(source.prefix { $0 != "/" })
                guard kind != Source.byHand, !kinds.contains(kind) else { continue }
                checker.report(
                    .warning, at: later.sources, table: "priority.\(later.section.name)", key: "sources",
                    found: tomlQuoted(source),
                    "no plugin of this file is of that kind; ignore this for a program that connects on its own, or whose records are still here",
                    suggestion: nearestName(to: kind, among: kinds.sorted()))
            }
            for earlier in priorityPlaces[..<index] where earlier.section.covers(later.section) {
                checker.report(
                    .warning, at: later.header, table: "priority.\(later.section.name)",
                    "[priority.\(earlier.section.name)] stands before it and covers all of it: it has no effect"
                )
            }
        }
    }
}

extension PrioritySection {
    fileprivate func covers(_ other: PrioritySection) -> Bool {
        let isOfTypes = types.map { types in other.types?.allSatisfy(types.contains) ?? false } ?? true
        let isOfPersons = persons.map { persons in other.persons?.isSubset(of: persons) ?? false } ?? true
        return isOfTypes && isOfPersons
    }
}
