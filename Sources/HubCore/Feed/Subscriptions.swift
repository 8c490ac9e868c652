import HubWire

/// What the listeners of one feed subscribe to, as XPUB tells it: the first subscription to a prefix, and the last that ends.
///
/// It saves work, and knows when there is too much: XPUB itself decides who gets what. So where it is not sure, it says that a topic is
/// wanted.
struct Subscriptions {
    /// How much listeners may subscribe to, prefixes that differ and their bytes together.
    ///
    /// libzmq keeps them in a tree with a node per byte and has no bound of its own.
    struct Bound: Hashable {
        var prefixes: Int
        var bytes: Int

        /// About 60 MB of libzmq's memory, at worst.
        static let owner = Bound(prefixes: 100_000, bytes: 1_048_576)
        /// About 4 MB.
        static let instance = Bound(prefixes: 1_000, bytes: 65_536)
    }

    /// Looking through more prefixes would cost every record more than encoding it in vain.
    static let examined = 256

    let bound: Bound
    private(set) var prefixes: Set<[UInt8]> = []
    private var bytes = 0
    /// Whether all that XPUB had to tell was heard.
    var isKnown = true

    init(_ bound: Bound) { self.bound = bound }

    /// There are more subscriptions than the bound allows.
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
