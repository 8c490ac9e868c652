public import HubWire
public import Samples

/// A table `[retention.<name>]`: how long records of some types are kept.
public struct RetentionSection: Sendable, Hashable {
    /// The name of the table.
    public var name: String
    public var types: [TypeID]
    /// The plugin kinds that it applies to; nil: all.
    public var sources: Set<String>?
    /// Samples that ended this many days ago are reduced to one value a day; nil: never.
    public var thinAfterDays: Int?
    /// Records that ended this many days ago are removed; nil: never.
    public var removeAfterDays: Int?

    /// Makes a table of these values without checks.
    public init(
        name: String, types: [TypeID], sources: Set<String>? = nil, thinAfterDays: Int? = nil,
        removeAfterDays: Int? = nil
    ) {
        (self.name, self.types, self.sources) = (name, types, sources)
        (self.thinAfterDays, self.removeAfterDays) = (thinAfterDays, removeAfterDays)
    }
}

extension HubConfiguration {
    /// The settings of `[retention.<name>]`.
    public static let retentionDeclarations: [SettingDeclaration] = [
        .init("types", .list(of: .string()), help: "Types that the rule is for.", required: true),
        .init("sources", .list(of: .string()), help: "Kinds of plugins that it is for; all if not set."),
        .init(
            "thin_after_days", .integer(Bounds(1, 36_500)),
            help: "Samples that ended this many days ago become a value a day, with their statistics."),
        .init(
            "remove_after_days", .integer(Bounds(1, 36_500)), help: "Records that ended this many days ago are removed."
        ),
    ]
}

extension ConfigurationReader {
    /// Reads a rule; returns nil after reporting its mistakes, because a rule that is only half understood must not remove anything.
    mutating func retention(_ field: Field) -> RetentionSection? {
        guard case .table(let fields) = field.entry.node else { return nil }
        let table = "retention.\(field.name)"
        let before = checker.problems.count
        let values = checker.values(
            of: fields, table: table, declarations: HubConfiguration.retentionDeclarations,
            header: field.entry.position)
        func place(_ key: String) -> SourcePosition {
            fields.first { $0.name == key }?.entry.position ?? field.entry.position
        }
        var rule = RetentionSection(name: field.name, types: [])
        rule.sources = values["sources"]?.strings.map(Set.init)
        rule.thinAfterDays = values["thin_after_days"]?.integer.map { Int($0) }
        rule.removeAfterDays = values["remove_after_days"]?.integer.map { Int($0) }
        let names = values["types"]?.strings ?? []
        if names.isEmpty, values["types"] != nil {
            checker.report(at: place("types"), table: table, key: "types", "expected at least one type")
        }
        for name in names {
            guard let type = type(name, at: place("types"), table: table, key: "types") else { continue }
            if let kind = TypeRegistry.standard.type(type)?.kind, kind != .quantity, rule.thinAfterDays != nil {
                checker.report(
                    at: place("thin_after_days"), table: table, key: "thin_after_days",
                    "\(name) has no quantities to keep statistics of; give it a separate table with remove_after_days"
                )
            }
            rule.types.append(type)
        }
        if !fields.contains(where: { $0.name == "thin_after_days" || $0.name == "remove_after_days" }) {
            checker.report(
                at: field.entry.position, table: table,
                "has no effect; write thin_after_days or remove_after_days")
        }
        if let thin = rule.thinAfterDays, let remove = rule.removeAfterDays, thin >= remove {
            checker.report(
                at: place("thin_after_days"), table: table, key: "thin_after_days", found: "\(thin)",
                "expected fewer days than remove_after_days, which is \(remove): removed samples cannot be thinned")
        }
        guard !Array(checker.problems[before...]).hasErrors else { return nil }
        rulePlaces.append((rule, field.entry.position, place("sources")))
        return rule
    }

    /// Reports sources that are no plugin's kind: such a rule would silently keep the records it was meant to remove.
    mutating func reportUnknownSources() {
        for (rule, _, position) in rulePlaces {
            for source in (rule.sources ?? []).sorted() where !kinds.contains(source) {
                checker.report(
                    .warning, at: position, table: "retention.\(rule.name)", key: "sources", found: tomlQuoted(source),
                    "no plugin of this file is of that kind; ignore this for a program that connects on its own, or whose records are still here",
                    suggestion: nearestName(to: source, among: kinds.sorted()))
            }
        }
    }

    /// Reports rules for the same records: the hub follows one after the other, which is seldom intended.
    mutating func reportOverlappingRules() {
        for (index, later) in rulePlaces.enumerated() {
            for earlier in rulePlaces[..<index] {
                let types = later.rule.types.filter { earlier.rule.types.contains($0) }.map(\.rawValue)
                let shared =
                    earlier.rule.sources.map { later.rule.sources?.intersection($0) ?? $0 } ?? later.rule.sources
                guard !types.isEmpty, shared?.isEmpty != true else { continue }
                let whose = shared.map { " from \($0.sorted().joined(separator: ", "))" } ?? ""
                checker.report(
                    .warning, at: later.header, table: "retention.\(later.rule.name)",
                    "[retention.\(earlier.rule.name)] is for \(types.joined(separator: ", "))\(whose) too: both are followed, that one first"
                )
            }
        }
    }
}
