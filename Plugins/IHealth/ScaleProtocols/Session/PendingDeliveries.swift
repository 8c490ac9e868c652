/// The deliveries that a dialogue has handed out, and the weighings that were stored.
///
/// It is kept across connections: a repeated weighing is acknowledged without a second delivery, and a delivery of an ended connection may
/// still be answered.
struct PendingDeliveries<Key: Hashable & Sendable, Context: Sendable>: Sendable {
    /// A delivery without an answer.
    struct Item: Sendable {
        let readings: [ScaleReading]
        let source: ScaleDelivery.Source
        /// The keys under which its weighings are known once they are stored.
        let keys: [Key]
        /// Data that the dialogue needs after the answer.
        let context: Context
        /// Whether it came over the open connection, so that it can be acknowledged.
        fileprivate(set) var isCurrent = true
    }

    private var items: [ScaleToken: Item] = [:]
    private var kept = RecentKeys<Key>()
    private var nextToken = 0
    /// The maximum number of unanswered deliveries, including those of ended connections.
    private let limit: Int

    init(limit: Int = 32) { self.limit = limit }

    /// The deliveries of the open connection.
    var current: some Sequence<Item> { items.values.lazy.filter(\.isCurrent) }
    var isEmpty: Bool { items.isEmpty }

    func isKept(_ key: Key) -> Bool { kept.contains(key) }

    /// Returns `nil` if too many deliveries wait: these readings are not acknowledged, and the scale repeats them.
    mutating func add(
        _ readings: [ScaleReading], from source: ScaleDelivery.Source, keys: [Key], _ context: Context,
        isCurrent: Bool = true
    ) -> ScaleDelivery? {
        guard items.count < limit else { return nil }
        let token = ScaleToken(number: nextToken)
        nextToken += 1
        items[token] = Item(readings: readings, source: source, keys: keys, context: context, isCurrent: isCurrent)
        return ScaleDelivery(token: token, source: source, readings: readings)
    }

    /// Handles the answer to a delivery; returns `nil` if it has already been answered.
    mutating func answer(_ token: ScaleToken, isKept: Bool) -> Item? {
        guard let item = items.removeValue(forKey: token) else { return nil }
        if isKept { for key in item.keys { kept.insert(key) } }
        return item
    }

    /// Ends the connection: answers still count, but can no longer be acknowledged.
    mutating func endConnection() { for token in items.keys { items[token]?.isCurrent = false } }
}

/// The most recently stored keys, which identify repetitions.
private struct RecentKeys<Key: Hashable & Sendable>: Sendable {
    private var order: [Key] = []
    private var next = 0
    private var keys: Set<Key> = []

    /// More than any memory (200) and any series of weighings between two transfers.
    private let limit = 1024

    func contains(_ key: Key) -> Bool { keys.contains(key) }

    mutating func insert(_ key: Key) {
        guard keys.insert(key).inserted else { return }
        guard order.count == limit else { return order.append(key) }
        keys.remove(order[next])
        order[next] = key
        next = (next + 1) % limit
    }
}
