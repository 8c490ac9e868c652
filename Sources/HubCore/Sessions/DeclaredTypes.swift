import HubWire
import Samples

/// The types that instances have declared since the hub started: one id means the same to all (R4.11).
struct DeclaredTypes {
    static let boundOfInstance = 256
    static let bound = 4_096

    private var owners: [TypeID: (type: HealthType, instances: Set<String>)] = [:]

    /// The standard types and all of these.
    var registry: TypeRegistry {
        // One that contradicts the standard registry was refused when it was declared.
        owners.values.reduce(.standard) { registry, owner in (try? registry.registering(owner.type)) ?? registry }
    }

    /// Takes the declarations of an instance, all or none.
    ///
    /// An instance may change what no other has declared: its program is newer now.
    /// - Throws: `field` where another instance has declared the id otherwise; `limit` when there are too many.
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
