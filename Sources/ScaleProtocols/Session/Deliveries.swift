/// What a dialogue has handed out to be kept, and the weighings that it was told are kept.
///
/// Kept across connections: a weighing that comes again is acknowledged without a second delivery, and what was handed out on a connection
/// that has ended may still be answered.
struct Deliveries<Key: Hashable & Sendable, Context: Sendable>: Sendable {
    /// A delivery that is not answered yet.
    struct Item: Sendable {
        let readings: [ScaleReading]
        let source: ScaleDelivery.Source
        /// What its weighings are known by from now on, where they are kept.
        let keys: [Key]
        /// What the dialogue has to know of it then.
        let context: Context
        /// Whether it came over the connection that is open now, so that it can be acknowledged.
        fileprivate(set) var isCurrent = true
    }

    private var items: [ScaleToken: Item] = [:]
    private var kept = RecentKeys<Key>()
    private var nextToken = 0
    /// How many may wait for an answer, those of ended connections included.
    private let limit: Int

    init(limit: Int = 32) { self.limit = limit }

    /// Those of the connection that is open now.
    var current: some Sequence<Item> { items.values.lazy.filter(\.isCurrent) }
    var isEmpty: Bool { items.isEmpty }

    func isKept(_ key: Key) -> Bool { kept.contains(key) }

    /// Nil where too many wait already: these are not acknowledged, and the scale tells them again.
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

    /// The answer to a delivery; nil where it has been answered before.
    mutating func answer(_ token: ScaleToken, isKept: Bool) -> Item? {
        guard let item = items.removeValue(forKey: token) else { return nil }
        if isKept { for key in item.keys { kept.insert(key) } }
        return item
    }

    /// The connection has ended: an answer still counts, but there is nothing left to acknowledge.
    mutating func endConnection() { for token in items.keys { items[token]?.isCurrent = false } }
}

/// The keys kept most recently, to know a repeat by.
private struct RecentKeys<Key: Hashable & Sendable>: Sendable {
    private var order: [Key] = []
    private var next = 0
    private var keys: Set<Key> = []

    /// More than any memory (200) and any series of weighings one scale reports between two transfers.
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
