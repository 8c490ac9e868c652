import HubStore
import HubWire
import Samples

/// The names in a filter of QUERY or WANT, checked against the session's rights; the same for both.
struct FilterNames {
    /// `QUERY` or `WANT`, for reasons.
    let verb: String
    let reading: ReadGrant
    /// The same rights in the store's terms; `nil` for all.
    let allowance: ReadAllowance?
    let registry: TypeRegistry
    /// Persons of `hub.conf` that the session may read, in its order.
    let persons: [String]
    /// The same for reasons, with their display names.
    let listed: String
    private let facts: HubContext

    init(_ verb: String, _ session: ClientSession, _ facts: HubContext) {
        (self.verb, registry, self.facts) = (verb, session.registry, facts)
        let reading = ReadGrant(session.policy, of: session.instance)
        (self.reading, allowance) = (reading, reading.allowance(by: facts.clock))
        let readable = facts.persons.filter { reading.persons?.contains($0.name) ?? true }
        persons = readable.map(\.name)
        listed = readable.isEmpty ? "none" : readable.map(\.bothNames).joined(separator: ", ")
    }

    /// Types by id; types that the session may not read are not removed.
    ///
    /// - Throws: `field` for a name that is not a type.
    func types(_ asked: [String]?) throws(WireError) -> Set<TypeID>? {
        try asked.map { asked throws(WireError) in try types(asked, at: "\(verb).types") }
    }

    /// - Parameter path: the path of the names.
    func types(_ asked: [String], at path: String) throws(WireError) -> Set<TypeID> {
        var types: Set<TypeID> = []
        for name in asked {
            guard let type = registry.resolve(name)?.id ?? Self.unregistered(name) else {
                let nearest = registry.suggestion(for: name).map { "; did you mean \"\($0)\"?" } ?? ""
                throw WireError(.field, "\(path): no type \(Self.shown(name))\(nearest)", closed: false)
            }
            types.insert(type)
        }
        return types
    }

    /// An id that may be stored although this registry does not have it.
    private static func unregistered(_ name: String) -> TypeID? {
        guard let type = try? TypeID(name) else { return nil }
        return SampleKind(healthKitIdentifier: name) != nil || type.form == .vendor || type.form == .healthConnect
            ? type : nil
    }

    /// The persons of a filter that the session may read.
    ///
    /// Without names, all that it may read; `nil` means all persons, and also records without a person.
    /// - Throws: `field` for any other name; the error does not reveal whether there is such a person (R8.37).
    func persons(_ asked: [String]?) throws(WireError) -> Set<String>? {
        guard let asked else { return reading.persons }
        var found: Set<String> = []
        for name in asked {
            guard let person = facts.knownName(name, allowed: reading.persons) else {
                throw WireError(
                    .field, "\(verb).persons: no person \(Self.shown(name)) here; there are: \(listed)", closed: false)
            }
            found.insert(person)
        }
        return found
    }

    private static func shown(_ name: String) -> String { RawJSON.string(String(name.prefix(64))).text }
}
