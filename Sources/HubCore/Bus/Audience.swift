import HubWire

/// What somebody listens to, as XPUB tells it: the first subscription to a prefix, and the last that ends.
///
/// It only saves work: XPUB itself decides who gets what. So where it is not sure, it says that a topic is wanted.
struct Audience {
    /// So many prefixes are kept; looking through more would cost every record more than encoding it in vain.
    static let bound = 256

    private var prefixes: Set<[UInt8]> = []
    /// Prefixes beyond the bound.
    private var others = 0
    /// Whether all that XPUB had to tell was heard.
    var isKnown = true

    /// Takes a message that a subscriber caused: 1 or 0, and a prefix.
    ///
    /// Any other is none that a publisher understands; it harms nobody.
    mutating func heard(_ message: [UInt8]) {
        let prefix = Array(message.dropFirst())
        switch message.first {
        case 1 where prefixes.count < Self.bound: prefixes.insert(prefix)
        case 1: others += 1
        case 0 where prefixes.remove(prefix) == nil: others = max(0, others - 1)
        default: break
        }
    }

    /// Whether surely nobody wants anything.
    var isEmpty: Bool { isKnown && others == 0 && prefixes.isEmpty }

    func wants(_ topic: Topic) -> Bool {
        !isKnown || others > 0 || prefixes.contains { topic.text.utf8.starts(with: $0) }
    }
}
