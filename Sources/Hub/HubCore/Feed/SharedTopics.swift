import HubWire

/// The values of `previous` on an instance's feed for topics that also carry records which it may not read; they hide those records (R7.30).
struct SharedTopics {
    /// The head at the beginning: earlier sequences of topics are not known, so a follower that began earlier has to ask.
    private var base: Int64
    /// The last sequence after ``base`` that the instance may read, by topic.
    private var last: [Topic: Int64] = [:]

    /// Maximum number of topics that are remembered.
    static let most = 10_000

    /// - Parameter head: the head of the store; a record that is published later may still be of an earlier commit.
    init(from head: Int64) { base = head }

    /// Notes a record that the instance may read, whether it is published or not.
    ///
    /// - Returns: the previous sequence on its topic, as the instance sees it.
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
