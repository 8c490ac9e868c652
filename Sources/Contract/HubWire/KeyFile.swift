/// The file that `hub keys new` prints: everything that a plugin on another machine needs to connect to its hub.
///
/// It is a JSON object with keys in ZeroMQ's format, 40 characters of Z85 (ZeroMQ RFC 32). Any program that has the file can act as the
/// instance: give it to one machine only, keep it at mode 0600, and never log it.
public struct KeyFile: Hashable, Sendable, Codable, CustomStringConvertible, CustomReflectable {
    /// The `[plugin.<instance>]` that the key stands for.
    public var instance: String
    /// The address of the door as the other machine reaches it: `tcp://HOST:PORT`.
    public var door: String
    /// The address of the instance's feed; absent if it may not listen.
    public var feed: String?
    /// The hub's public key.
    public var serverKey: String
    /// The key pair of the instance.
    public var publicKey, secretKey: String

    public init(
        instance: String, door: String, feed: String?, serverKey: String, publicKey: String, secretKey: String
    ) {
        (self.instance, self.door, self.feed) = (instance, door, feed)
        (self.serverKey, self.publicKey, self.secretKey) = (serverKey, publicKey, secretKey)
    }

    public var description: String { "the key of \(instance) to \(door)" }
    public var customMirror: Mirror { Mirror(self, children: [("instance", instance), ("door", door)]) }
}
