public import HubWire
public import Samples
import Synchronization

/// Permission of a person to share each type with the hub.
///
/// There is no equivalent for reading: if reading is denied, a plugin sees only its own records, as if no others existed.
extension PluginContext {
    /// The permission to give records of a type, as of the hub's last WELCOME; `.notDetermined` before the first one.
    ///
    /// A status of not determined does not allow giving either.
    public func authorizationStatus(of type: TypeID) -> PermissionState {
        link.terms.withLock { $0.sharing?.status(of: type.rawValue) ?? .notDetermined }
    }

    /// Waits until ``authorizationStatus(of:)`` of the type differs from `known`, and returns the new status.
    ///
    /// - Throws: `CancellationError`.
    public func authorizationStatus(of type: TypeID, otherThan known: PermissionState) async throws -> PermissionState {
        while true {
            let sessions = sessionCount
            let status = authorizationStatus(of: type)
            if status != known { return status }
            try await untilSession(beyond: sessions)
        }
    }
}
