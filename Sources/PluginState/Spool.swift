/// One record that waits for the hub: opaque bytes, kept exactly as spooled.
public struct SpooledRecord: Sendable, Hashable {
    /// Its place in the queue: ascending in the order of commits, from 1, never given out twice for one `state.db`.
    public let id: Int64
    /// The `id` the first record of its group was given: records with the same one must travel in one batch.
    public let group: Int64
    /// The record as it was spooled.
    public let bytes: [UInt8]
}

/// One record the hub rejected, kept for a person to look at.
public struct RefusedRecord: Sendable, Hashable {
    /// The `id` it had in the spool.
    public let id: Int64
    /// The group it had in the spool; requeued records of one group are one group again.
    public let group: Int64
    /// The record as it was spooled.
    public let bytes: [UInt8]
    /// The hub's code.
    public let code: String
    /// The hub's words.
    public let reason: String
    /// When the hub said so: microseconds since 1970 by the caller's clock.
    public let time: Int64
}

/// The hub's refusal of one spooled record.
public struct SpoolRefusal: Sendable, Hashable {
    /// The record's `SpooledRecord.id`.
    public var id: Int64
    /// The hub's code for it, without NUL.
    public var code: String
    /// The hub's words for it.
    ///
    /// A NUL is kept as `␀` (U+2400), since SQLite ends a text at a NUL.
    public var reason: String

    public init(id: Int64, code: String, reason: String) {
        (self.id, self.code, self.reason) = (id, code, reason)
    }
}

/// How a record left the spool.
public enum Removal: Sendable, Hashable {
    /// The hub stored it.
    case stored
    /// The hub had it already.
    case duplicate
}

/// The accounts of a spool, in records, since `state.db` was created.
///
/// They are kept in the transaction of the change they count, and the schema refuses a commit that breaks
/// `spooled = stored + duplicate + pending + refused + dropped + cleared`.
public struct SpoolCounters: Sendable, Hashable {
    /// Accepted by `spool`.
    public internal(set) var spooled: Int64 = 0
    /// Removed because the hub stored them.
    public internal(set) var stored: Int64 = 0
    /// Removed because the hub had them already.
    public internal(set) var duplicate: Int64 = 0
    /// Waiting to be sent, or sent and not answered yet.
    public internal(set) var pending: Int64 = 0
    /// Kept now because the hub refused them.
    public internal(set) var refused: Int64 = 0
    /// Refused ones that had to go, oldest first, at `PluginState.Limits.refusedRecords` or `refusedBytes`.
    public internal(set) var dropped: Int64 = 0
    /// Refused ones removed by `clearRefused`.
    public internal(set) var cleared: Int64 = 0
    /// How often a refused record went back to `pending`; no part of the law above.
    public internal(set) var requeued: Int64 = 0
    /// The length of the pending records together.
    public internal(set) var pendingBytes: Int64 = 0
    /// The length of the refused records together.
    public internal(set) var refusedBytes: Int64 = 0
    /// The highest `SpooledRecord.id` given out.
    public internal(set) var lastID: Int64 = 0

    /// The accounts of a spool nothing was ever put into.
    public init() {}

    init(
        spooled: Int64, stored: Int64, duplicate: Int64, pending: Int64, refused: Int64, dropped: Int64,
        cleared: Int64, requeued: Int64, pendingBytes: Int64, refusedBytes: Int64, lastID: Int64
    ) {
        (self.spooled, self.stored, self.duplicate, self.pending) = (spooled, stored, duplicate, pending)
        (self.refused, self.dropped, self.cleared, self.requeued) = (refused, dropped, cleared, requeued)
        (self.pendingBytes, self.refusedBytes, self.lastID) = (pendingBytes, refusedBytes, lastID)
    }
}

extension PluginState {
    /// How much a plugin's state may hold.
    public struct Limits: Sendable, Hashable {
        /// Records that may wait for the hub.
        public var records: Int64 = 100_000
        /// Bytes the waiting records may have together.
        public var bytes: Int64 = 64 << 20
        /// Refused records that are kept; beyond, the oldest groups are dropped and counted.
        public var refusedRecords: Int64 = 10_000
        /// Bytes the refused records may have together; beyond, the oldest groups are dropped and counted.
        public var refusedBytes: Int64 = 64 << 20
        /// How large `state.db` may get, the key/value state included.
        public var fileBytes: Int64 = 512 << 20

        /// The limits every plugin has; a test may lower them.
        public init() {}
    }
}
