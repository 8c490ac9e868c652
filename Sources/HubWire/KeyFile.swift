/// What a plugin on another machine needs to come to its hub: the file that `hub keys new` prints.
///
/// A JSON object; keys are written as ZeroMQ does, 40 characters of Z85 (ZeroMQ RFC 32). A program that has the file is the instance: it is
/// given to one machine, kept at mode 0600, and never logged.
public struct KeyFile: Hashable, Sendable, Codable, CustomStringConvertible, CustomReflectable {
    /// The `[plugin.<instance>]` that the key makes its owner.
    public var instance: String
    /// Where the door is, as the other machine reaches it: `tcp://HOST:PORT`.
    public var door: String
    /// Where the instance's feed is; absent where it may not listen.
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
