/// The differences between SAMI of 2014 and ARTIK Cloud of 2016 (reference §0 and §5.9).
public struct Dialect: Sendable, Hashable {
    public let name: String
    /// The maximum number of bytes in one message.
    let messageBytes: Int
    /// The maximum and default number of messages in one page of a range.
    let pageMessages: Int
    /// Whether it is ARTIK Cloud: presence, status, snapshots, actions, token information, dates in milliseconds.
    let isLater: Bool

    public static let sami = Dialect(name: "sami", messageBytes: 10 * 1024, pageMessages: 1000, isLater: false)
    public static let artik = Dialect(name: "artik", messageBytes: 1024, pageMessages: 100, isLater: true)

    public init?(name: String) {
        guard let found = [Dialect.sami, .artik].first(where: { $0.name == name }) else { return nil }
        self = found
    }

    private init(name: String, messageBytes: Int, pageMessages: Int, isLater: Bool) {
        (self.name, self.messageBytes, self.pageMessages) = (name, messageBytes, pageMessages)
        self.isLater = isLater
    }
}
