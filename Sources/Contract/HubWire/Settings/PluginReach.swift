/// A service that a plugin's program may reach beyond its own files, if its manifest asks for it and `hub.conf` does not exclude it.
public enum PluginReach: String, Sendable, Hashable, Codable, CaseIterable {
    /// Connections to other machines and to programs of this one, over IP.
    case network
    /// Listening for TCP connections, in addition to ``network``.
    case listening
    /// Bluetooth sockets.
    case bluetooth
}
