/// One record that waits for the hub: opaque bytes, stored exactly as spooled.
public struct SpooledRecord: Sendable, Hashable {
    /// Its position in the queue: ascending in the order of commits, from 1, never reused within one `state.db`.
    public let id: Int64
    /// The `id` of the first record of its group: records with the same group must travel in one batch.
    public let group: Int64
    /// The record as it was spooled.
    public let bytes: [UInt8]
}

/// One record that the hub rejected, kept for a person to look at.
public struct RefusedRecord: Sendable, Hashable {
    /// The `id` it had in the spool.
    public let id: Int64
    /// The group it had in the spool; requeued records of one group are one group again.
    public let group: Int64
    /// The record as it was spooled.
    public let bytes: [UInt8]
    /// The hub's code.
    public let code: String
    /// The hub's reason.
    public let reason: String
    /// When the hub rejected it: microseconds since 1970 by the caller's clock.
    public let time: Int64
}

/// The hub's refusal of one spooled record.
public struct SpoolRefusal: Sendable, Hashable {
    /// The record's `SpooledRecord.id`.
    public var id: Int64
    /// The hub's code for it, without NUL.
    public var code: String
    /// The hub's reason for it.
    ///
    /// A NUL is stored as `␀` (U+2400), because SQLite ends a text at a NUL.
    public var reason: String

    /// A refusal as the hub sent it.
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

/// The accounting of a spool in records, since `state.db` was created.
///
/// The counters change in the transaction of the change they count, and the schema refuses a commit that violates `spooled = stored + duplicate
/// + pending + refused + dropped + cleared`.
public struct SpoolCounters: Sendable, Hashable {
    /// Accepted by `spool`.
    public internal(set) var spooled: Int64 = 0
    /// Removed because the hub stored them.
    public internal(set) var stored: Int64 = 0
    /// Removed because the hub had them already.
    public internal(set) var duplicate: Int64 = 0
    /// Waiting to be sent, or sent and not answered yet.
    public internal(set) var pending: Int64 = 0
    /// Kept because the hub refused them.
    public internal(set) var refused: Int64 = 0
    /// Refused records that were dropped, oldest first, at `PluginState.Limits.refusedRecords` or `refusedBytes`.
    public internal(set) var dropped: Int64 = 0
    /// Refused records deleted by `clearRefused`.
    public internal(set) var cleared: Int64 = 0
    /// The number of times a refused record went back to `pending`; not part of the equation above.
    public internal(set) var requeued: Int64 = 0
    /// The total length of the pending records.
    public internal(set) var pendingBytes: Int64 = 0
    /// The total length of the refused records.
    public internal(set) var refusedBytes: Int64 = 0
    /// The highest `SpooledRecord.id` given out.
    public internal(set) var lastID: Int64 = 0

    /// The counters of a new spool.
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
    /// The limits on the size of a plugin's state.
    public struct Limits: Sendable, Hashable {
        /// Maximum number of records that wait for the hub.
        public var records: Int64 = 100_000
        /// Maximum total bytes of the waiting records.
        public var bytes: Int64 = 64 << 20
        /// Maximum number of refused records; above it, the oldest groups are dropped and counted.
        public var refusedRecords: Int64 = 10_000
        /// Maximum total bytes of the refused records; above it, the oldest groups are dropped and counted.
        public var refusedBytes: Int64 = 64 << 20
        /// Maximum size of `state.db`, including the key/value state.
        public var fileBytes: Int64 = 512 << 20

        /// The default limits of every plugin; a test may lower them.
        public init() {}
    }
}
