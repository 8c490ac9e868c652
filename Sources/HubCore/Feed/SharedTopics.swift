import HubWire

/// What `previous` says on the feed of an instance where topics carry records, too, that it may not read: of those it does not tell (R7.30).
struct SharedTopics {
    /// Where it began: up to there it is not known which topic had something, and a follower that began earlier has to ask.
    private var base: Int64
    /// The last sequence behind it of what the instance may read, by topic.
    private var last: [Topic: Int64] = [:]

    /// As many topics as are remembered.
    static let most = 10_000

    /// - Parameter head: of the store; what is published from now on may still be of an earlier commit.
    init(from head: Int64) { base = head }

    /// Notes a record that the instance may read, whether it is published or not.
    ///
    /// - Returns: what is said to be the last sequence on its topic before.
    mutating func pass(_ topic: Topic, _ sequence: Int64) -> Int64 {
        let previous = min(max(base, last[topic] ?? 0), sequence - 1)
        if last.count >= Self.most, last[topic] == nil {
            base = max(base, last.values.max() ?? 0)
            last.removeAll()
        }
        last[topic] = sequence
        return previous
    }
}
