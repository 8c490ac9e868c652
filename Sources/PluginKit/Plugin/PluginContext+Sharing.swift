public import HubSettings
public import Samples
import Synchronization

/// What a person has decided about the types that this plugin shares with the hub.
///
/// There is no such thing for reading: where that was denied, a plugin finds its own records, as if there were no others.
extension PluginContext {
    /// Whether records of a type may be given, as of the hub's last WELCOME: granted, denied, or not decided, which is not allowed
    /// either; `.notDetermined` before the first.
    public func authorizationStatus(of type: TypeID) -> PermissionState {
        link.terms.withLock { $0.sharing?.status(of: type.rawValue) ?? .notDetermined }
    }

    /// Returns when ``authorizationStatus(of:)`` of the type is another than `known`, and says which.
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
