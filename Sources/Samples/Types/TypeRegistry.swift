/// All health types: those of HealthKit, those of Health Connect that HealthKit lacks, and declared ones.
///
/// A value; ``registering(_:)`` gives a new one. Looking up a type or an alias is one hash look-up. The standard
/// registry is built at its first use, in about a millisecond, and shared. Safe on every thread.
public struct TypeRegistry: Sendable {
    /// The built-in types.
    public static let standard = TypeRegistry(TableReader.types())

    private var types: [TypeID: HealthType]
    private let aliases: [String: TypeID]
    /// Names that several types share, and which; ``resolve(_:)`` answers none of them.
    ///
    /// `omh:speed` is the speed of cycling, running and walking: which one a record means, only its source can say.
    public let ambiguousAliases: [String: [TypeID]]

    private init(_ all: [HealthType]) {
        types = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
        var owners: [String: Set<TypeID>] = [:]
        for type in all {
            for name in TypeRegistry.names(of: type) { owners[name, default: []].insert(type.id) }
        }
        aliases = owners.compactMapValues { $0.count == 1 ? $0.first : nil }
        ambiguousAliases = owners.filter { $0.value.count > 1 }.mapValues { $0.sorted() }
    }

    /// Everything a type may be called, apart from its id.
    private static func names(of type: HealthType) -> [String] {
        let aliases = type.aliases
        // A schema is the same thing in each of its versions.
        let schemas = aliases.openMHealth.map { String($0.prefix(upTo: $0.lastIndex(of: ":") ?? $0.endIndex)) }
        return aliases.healthKit + aliases.names + aliases.openMHealth + schemas + aliases.loinc
            + aliases.healthConnect + [type.displayName]
    }

    /// The type with that id.
    public func type(_ id: TypeID) -> HealthType? { types[id] }

    /// The type that `name` stands for: its id, HealthKit identifier or former short name, LOINC code, Open mHealth
    /// schema with or without version (`omh:body-weight`), Health Connect record or English name.
    /// - Returns: `nil` for unknown names and for ``ambiguousAliases``.
    public func resolve(_ name: String) -> HealthType? {
        types[TypeID(known: name)] ?? aliases[name].flatMap { types[$0] }
    }

    /// All types, by id.
    public var all: [HealthType] { types.values.sorted { $0.id < $1.id } }

    /// A registry that also has `type`, as a plugin's manifest declares it.
    ///
    /// Declaring the same again changes nothing; then the first entry stays.
    /// - Throws: ``TypeError`` with code `conflict` when the id stands for something else already.
    public func registering(_ type: HealthType) throws(TypeError) -> TypeRegistry {
        if let known = types[type.id] {
            guard known.declaresTheSame(as: type) else {
                throw TypeError(
                    .conflict, id: type.id.rawValue,
                    "it is declared as \(known.declaration) already and cannot become \(type.declaration); "
                        + "declare the same or choose another id")
            }
            return self
        }
        var registry = self
        registry.types[type.id] = type
        return registry
    }

    /// The id of an everyday name or nearest to a misspelled one, for "did you mean"; `nil` if none is near.
    ///
    /// Compares with every name in the registry, about a millisecond: for messages to people, not for each record.
    public func suggestion(for name: String) -> TypeID? {
        guard (1...TypeID.maximumLength).contains(name.utf8.count) else { return nil }
        if let meant = resolve(name) ?? EverydayNames.type(name).flatMap({ type($0.id) }) { return meant.id }
        // An id wins over an alias, which is only a further way to spell one.
        if let id = EditDistance.nearest(to: name, among: types.keys.lazy.map(\.rawValue)) {
            return TypeID(known: id.name)
        }
        return EditDistance.nearest(to: name, among: aliases.keys).flatMap { aliases[$0.name] }
    }
}
