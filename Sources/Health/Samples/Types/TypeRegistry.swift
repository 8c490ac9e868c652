/// All health types: the built-in ones of the tables in Types/Tables, and declared ones.
///
/// A value type: ``registering(_:)`` returns a new registry. Looking up a type or an alias is one hash look-up. The standard
/// registry is built at its first use, in about a millisecond, and shared. Safe on every thread.
public struct TypeRegistry: Sendable {
    /// The built-in types.
    public static let standard = TypeRegistry(TableReader.types())

    private var types: [TypeID: HealthType]
    private let aliases: [String: TypeID]
    /// Names that several types share, with those types; ``resolve(_:)`` returns `nil` for them.
    ///
    /// `omh:speed` is the speed of cycling, running or walking. Only the source of a record knows which one it means.
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

    /// Every name of the type apart from its id.
    private static func names(of type: HealthType) -> [String] {
        let aliases = type.aliases
        // A schema means the same in each of its versions.
        let schemas = aliases.openMHealth.map { String($0.prefix(upTo: $0.lastIndex(of: ":") ?? $0.endIndex)) }
        return aliases.healthKit + aliases.names + aliases.openMHealth + schemas + aliases.loinc
            + aliases.healthConnect + [type.displayName]
    }

    /// The type with that id.
    public func type(_ id: TypeID) -> HealthType? { types[id] }

    /// Finds the type by its id, HealthKit identifier or former short name, LOINC code, Open mHealth schema with or without version
    /// (`omh:body-weight`), Health Connect record or English name.
    ///
    /// - Returns: `nil` for unknown names and for ``ambiguousAliases``.
    public func resolve(_ name: String) -> HealthType? {
        types[TypeID(known: name)] ?? aliases[name].flatMap { types[$0] }
    }

    /// All types, sorted by id.
    public var all: [HealthType] { types.values.sorted { $0.id < $1.id } }

    /// A registry that also contains `type`, as a plugin's manifest declares it.
    ///
    /// Declaring the same type twice changes nothing; the first entry stays.
    /// - Throws: ``TypeError`` with code `conflict` if the id is already declared as something else.
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

    /// The id for an everyday name, or the nearest id for a misspelled one, for "did you mean"; `nil` if none is near.
    ///
    /// Compares with every name in the registry, which takes about a millisecond. Use it for messages to people, not for each record.
    public func suggestion(for name: String) -> TypeID? {
        guard (1...TypeID.maximumLength).contains(name.utf8.count) else { return nil }
        if let meant = resolve(name) ?? EverydayNames.type(name).flatMap({ type($0.id) }) { return meant.id }
        // An id takes precedence over an alias, which is only another spelling of one.
        if let id = EditDistance.nearest(to: name, among: types.keys.lazy.map(\.rawValue)) {
            return TypeID(known: id.name)
        }
        return EditDistance.nearest(to: name, among: aliases.keys).flatMap { aliases[$0.name] }
    }
}
