import HubWire
import Samples

/// The types that instances have declared since the hub started: an id has the same meaning for all (R4.11).
struct DeclaredTypes {
    static let boundOfInstance = 256
    static let bound = 4_096

    private var owners: [TypeID: (type: HealthType, instances: Set<String>)] = [:]

    /// The standard types and all declared ones.
    var registry: TypeRegistry {
        // A declaration that contradicts the standard registry was refused before.
        owners.values.reduce(.standard) { registry, owner in (try? registry.registering(owner.type)) ?? registry }
    }

    /// Adds the declarations of an instance, all or none.
    ///
    /// An instance may change a declaration that no other instance shares, because its program may be newer now.
    /// - Throws: `field` if another instance has declared the id differently; `limit` if there are too many.
    mutating func add(_ types: [HealthType], of instance: String) throws(WireError) {
        var new = 0
        for type in types {
            guard let known = owners[type.id] else {
                new += 1
                continue
            }
            guard known.type.declaresTheSame(as: type) || known.instances == [instance] else {
                let others = known.instances.subtracting([instance]).sorted().joined(separator: ", ")
                throw WireError(
                    .field,
                    "HELLO.declares: \(type.id.rawValue): \(others) declares it as \(known.type.declaration), not as \(type.declaration)"
                )
            }
        }
        guard owners.count + new <= Self.bound else {
            throw WireError(.limit, "HELLO.declares: the hub knows \(owners.count) declared types, which is its limit")
        }
        for type in types {
            owners[type.id, default: (type, [])].type = type
            owners[type.id]?.instances.insert(instance)
        }
    }
}
