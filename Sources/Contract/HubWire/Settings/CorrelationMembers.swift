import Samples

/// The member types of a correlation, such as a blood pressure: a correlation is not granted itself, but follows from its members.
public struct CorrelationMembers: Sendable {
    /// The ids of the members.
    public let types: [String]
    /// Whether the correlation always has all members; otherwise one is enough.
    private let hasAll: Bool

    /// The types that are correlations, by id.
    static let correlations = TypeRegistry.standard.all.filter { $0.kind == .correlation }.map(\.id.rawValue)

    /// `nil` for a type that is not a correlation.
    public init?(of type: String) {
        guard let correlation = TypeRegistry.standard.resolve(type), correlation.kind == .correlation else {
            return nil
        }
        hasAll = !correlation.requiredMembers.isEmpty
        let members =
            hasAll
            ? correlation.requiredMembers : TypeRegistry.standard.all.filter { $0.group == "nutrition" }.map(\.id)
        types = members.map(\.rawValue)
    }

    /// Advice for people on the types to name instead.
    public var advice: String {
        hasAll
            ? "name \(types.joined(separator: " and ")), which include it"
            : "name types of nutrition, such as dietaryEnergyConsumed, which include it"
    }

    func fit(_ granted: [String]) -> Bool {
        hasAll ? types.allSatisfy(granted.contains) : types.contains(where: granted.contains)
    }

    func state(by permissions: TypePermissions) -> PermissionState {
        let states = types.map { permissions.state(of: $0) }
        if hasAll ? states.allSatisfy({ $0 == .granted }) : states.contains(.granted) { return .granted }
        return states.contains(.denied) ? .denied : .notDetermined
    }
}
