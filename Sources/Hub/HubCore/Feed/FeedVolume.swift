/// The bytes of the last messages of a feed, which is the maximum that may wait for a listener that does not read.
///
/// libzmq only bounds the number of messages that wait for a listener. The bytes are counted in pieces, at almost no cost per message.
struct FeedVolume {
    private static let pieces = 16

    /// Minimum number of messages that are counted.
    private let messages: Int
    private var newest = (messages: 0, bytes: 0)
    private var older = FIFO<Int>()
    private var olderCount = 0
    private(set) var bytes = 0

    /// - Parameter messages: the maximum number of messages that wait for a listener.
    init(ofLast messages: Int) { self.messages = max(Self.pieces, messages) }

    mutating func add(messages count: Int, bytes added: Int) {
        newest.messages += count
        newest.bytes += added
        bytes += added
        guard newest.messages >= messages / Self.pieces else { return }
        older.append(newest.bytes)
        olderCount += 1
        newest = (0, 0)
        if olderCount > Self.pieces {
            bytes -= older.popFirst() ?? 0
            olderCount -= 1
        }
    }
}
