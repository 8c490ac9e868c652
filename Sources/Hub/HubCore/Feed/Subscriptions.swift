import HubWire

/// The subscriptions of one feed, as XPUB reports them: the first subscription to a prefix, and the end of the last.
///
/// They save work and detect excess; XPUB itself decides which listener gets a message. If it is not certain, a topic counts as wanted.
struct Subscriptions {
    /// Maximum number of different prefixes, and of their bytes together.
    ///
    /// libzmq keeps them in a tree with a node per byte, without a limit.
    struct Bound: Hashable {
        var prefixes: Int
        var bytes: Int

        /// About 60 MB of libzmq's memory, at worst.
        static let owner = Bound(prefixes: 100_000, bytes: 1_048_576)
        /// About 4 MB.
        static let instance = Bound(prefixes: 1_000, bytes: 65_536)
    }

    /// Maximum number of prefixes that are examined; more would cost every record more than encoding it in vain.
    static let examined = 256

    let bound: Bound
    private(set) var prefixes: Set<[UInt8]> = []
    private var bytes = 0
    /// Whether all reports of XPUB were read.
    var isKnown = true

    init(_ bound: Bound) { self.bound = bound }

    /// Whether there are more subscriptions than the bound allows.
    var isTooLarge: Bool { prefixes.count > bound.prefixes || bytes > bound.bytes }

    /// Takes a message that a subscriber caused: 1 or 0, and a prefix.
    ///
    /// Any other message means nothing to a publisher, and is ignored.
    /// - Returns: the prefix, if there was no subscription to it before.
    @discardableResult
    mutating func heard(_ message: [UInt8]) -> [UInt8]? {
        let prefix = Array(message.dropFirst())
        switch message.first {
        case 1:
            guard prefixes.insert(prefix).inserted else { return nil }
            bytes += prefix.count
            return prefix
        case 0:
            if prefixes.remove(prefix) != nil { bytes -= prefix.count }
            return nil
        default: return nil
        }
    }

    /// Whether it is certain that no listener wants anything.
    var isEmpty: Bool { isKnown && prefixes.isEmpty }

    /// Whether a listener may want a topic that begins with one of these.
    func canWant(_ beginnings: [[UInt8]]) -> Bool {
        guard isKnown, prefixes.count <= Self.examined else { return true }
        return prefixes.contains { prefix in
            beginnings.contains { prefix.starts(with: $0) || $0.starts(with: prefix) }
        }
    }

    func wants(_ topic: Topic) -> Bool {
        guard isKnown, prefixes.count <= Self.examined else { return true }
        return prefixes.contains { topic.text.utf8.starts(with: $0) }
    }
}
