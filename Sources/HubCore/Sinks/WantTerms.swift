import HubStore
import HubWire
import Samples

extension SinkTerms {
    /// What a WANT asks for, narrowed to what its instance may read (R10.10).
    ///
    /// - Parameters:
    ///   - persons: the names that `hub.conf` has.
    ///   - zone: tells which day it is where a record does not know its local time.
    /// - Throws: `field` for a type or person that does not exist, `forbidden` when nothing is left of what is asked for.
    init(
        _ request: WantRequest, plugin: String, readable: Grants.Scope, registry: TypeRegistry, persons: [String],
        zone: String
    ) throws(WireError) {
        var filter = SinkFilter()
        filter.types = try Self.types(request, readable, registry)
        filter.persons = try Self.persons(request, readable, persons)
        filter.kinds = request.kinds.map { Set($0.compactMap { RecordKind(rawValue: $0.rawValue) }) }
        let takes = request.takes
        self.init(
            filter: filter,
            abilities: Abilities(
                takesPastDates: takes.pastDates, takesEdits: takes.edits, takesDeletions: takes.deletions,
                takesFilledValues: takes.filled),
            target: Target(plugin: plugin, accounts: request.account.map { [$0] } ?? []), zone: zone)
    }

    private static func types(
        _ request: WantRequest, _ readable: Grants.Scope, _ registry: TypeRegistry
    ) throws(WireError) -> Set<TypeID>? {
        let all = readable.types.contains("*")
        guard let asked = request.types else {
            return all ? nil : Set(readable.types.compactMap { registry.resolve($0)?.id })
        }
        var types: Set<TypeID> = []
        for name in asked {
            guard let type = registry.resolve(name)?.id ?? Self.unregistered(name) else {
                let nearest = registry.suggestion(for: name).map { "; did you mean \"\($0)\"?" } ?? ""
                throw WireError(.field, "WANT.types: no type \"\(name.prefix(64))\"\(nearest)", want: request.want)
            }
            if readable.allows(type: type.rawValue) { types.insert(type) }
        }
        guard !types.isEmpty || asked.isEmpty else {
            throw WireError(
                .forbidden,
                "WANT.types: this instance may read none of them; its manifest and grants allow \(readable.types.joined(separator: ", "))",
                want: request.want)
        }
        return types
    }

    /// An id that may be stored although this registry does not have it.
    private static func unregistered(_ name: String) -> TypeID? {
        guard let type = try? TypeID(name) else { return nil }
        return SampleKind(healthKitIdentifier: name) != nil || type.form == .vendor || type.form == .healthConnect
            ? type : nil
    }

    private static func persons(
        _ request: WantRequest, _ readable: Grants.Scope, _ known: [String]
    ) throws(WireError) -> Set<String>? {
        guard let asked = request.persons else {
            return readable.persons.contains("*") ? nil : Set(readable.persons)
        }
        if let unknown = asked.first(where: { !known.contains($0) }) {
            throw WireError(
                .field,
                "WANT.persons: hub.conf has no [person.\(unknown.prefix(64))]; it has \(known.joined(separator: ", "))",
                want: request.want)
        }
        let allowed = asked.filter { readable.allows(person: $0) }
        guard !allowed.isEmpty || asked.isEmpty else {
            throw WireError(
                .forbidden, "WANT.persons: this instance may read none of them; hub.conf names its persons",
                want: request.want)
        }
        return Set(allowed)
    }
}
