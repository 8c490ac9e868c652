/// What the program of a plugin may reach beyond its own files, if its manifest asks and `hub.conf` leaves it.
public enum PluginReach: String, Sendable, Hashable, Codable, CaseIterable {
    /// Connections to other machines and to programs of this one, over IP.
    case network
    /// Waiting for TCP connections, with ``network``.
    case listening
    /// Bluetooth sockets.
    case bluetooth
}
