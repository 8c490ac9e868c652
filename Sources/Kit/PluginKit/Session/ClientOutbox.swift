import HubWire

/// Batches on their way to the hub, in the order of their submission, until they are answered.
struct ClientOutbox: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        let ticket: BatchTicket
        let batch: OutgoingBatch
        /// The number under which the batch was sent in this session, and its cost; `nil` until it is sent.
        var sent: Sent?
    }

    struct Sent: Hashable, Sendable {
        let number: Int64
        let cost: Credit
    }

    private(set) var entries: [Entry] = []
    private(set) var bytes = 0

    var isEmpty: Bool { entries.isEmpty }
    var hasSent: Bool { entries.contains { $0.sent != nil } }
    /// The index of the oldest batch that waits to be sent.
    var firstWaiting: Int? { entries.firstIndex { $0.sent == nil } }

    static func size(_ batch: OutgoingBatch) -> Int {
        batch.records.joined.count + batch.payloads.reduce(0) { $0 + $1.count }
    }

    mutating func append(_ batch: OutgoingBatch, _ ticket: BatchTicket) {
        entries.append(Entry(ticket: ticket, batch: batch))
        bytes += Self.size(batch)
    }

    func index(sentAs number: Int64?) -> Int? {
        guard let number else { return nil }
        return entries.firstIndex { $0.sent?.number == number }
    }

    mutating func markSent(_ index: Int, _ sent: Sent) { entries[index].sent = sent }

    /// Marks a batch to be sent again.
    mutating func markWaiting(_ index: Int) { entries[index].sent = nil }

    mutating func markAllWaiting() {
        for index in entries.indices { entries[index].sent = nil }
    }

    mutating func remove(_ index: Int) -> Entry {
        let entry = entries.remove(at: index)
        bytes -= Self.size(entry.batch)
        return entry
    }
}
