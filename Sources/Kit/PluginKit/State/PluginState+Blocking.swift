// Each call is one transaction, for a thread that may block for an fsync. The rules are those of the `Transaction` method of the same name.

extension PluginState {
    /// The text under `key`, or `nil` if there is none; throws `invalid` if the value has another kind.
    public func text(_ key: String) throws(PluginStateError) -> String? {
        try commit { (t) throws(PluginStateError) in try t.text(key) }
    }

    /// The integer under `key`, or `nil` if there is none; throws `invalid` if the value has another kind.
    public func integer(_ key: String) throws(PluginStateError) -> Int64? {
        try commit { (t) throws(PluginStateError) in try t.integer(key) }
    }

    /// The bytes under `key`, or `nil` if there is none; throws `invalid` if the value has another kind.
    public func bytes(_ key: String) throws(PluginStateError) -> [UInt8]? {
        try commit { (t) throws(PluginStateError) in try t.bytes(key) }
    }

    /// Stores `value` under `key`; `nil` removes the key.
    public func set(_ key: String, to value: StateValue?) throws(PluginStateError) {
        try commit { (t) throws(PluginStateError) in try t.set(key, to: value) }
    }

    /// Appends `groups` to the spool, all or none; throws `full` if they do not fit.
    ///
    /// Returns the ids of the records.
    @discardableResult
    public func spool(_ groups: [[[UInt8]]]) throws(PluginStateError) -> Range<Int64> {
        try commit { (t) throws(PluginStateError) in try t.spool(groups) }
    }

    /// The next whole groups after the record `after`, in order, without removing them; always at least one.
    public func nextBatch(maximumRecords: Int, maximumBytes: Int, after: Int64 = 0) throws(PluginStateError)
        -> [SpooledRecord]
    {
        try commit { (t) throws(PluginStateError) in
            try t.nextBatch(maximumRecords: maximumRecords, maximumBytes: maximumBytes, after: after)
        }
    }

    /// Removes records from the spool because the hub has them; returns the number of removed records.
    @discardableResult
    public func remove(_ ids: [Int64], as removal: Removal) throws(PluginStateError) -> Int {
        try commit { (t) throws(PluginStateError) in try t.remove(ids, as: removal) }
    }

    /// Removes every record up to and including `id` from the spool because the hub has them; returns the number of removed records.
    @discardableResult
    public func remove(upTo id: Int64, as removal: Removal) throws(PluginStateError) -> Int {
        try commit { (t) throws(PluginStateError) in try t.remove(upTo: id, as: removal) }
    }

    /// Moves records that the hub rejected from the spool to the refused records; returns the number of moved records.
    @discardableResult
    public func refuse(_ refusals: [SpoolRefusal], at time: Int64) throws(PluginStateError) -> Int {
        try commit { (t) throws(PluginStateError) in try t.refuse(refusals, at: time) }
    }

    /// Refused records after the record `after`, in the order in which they were spooled.
    public func refused(after: Int64 = 0, maximum: Int = 1000) throws(PluginStateError) -> [RefusedRecord] {
        try commit { (t) throws(PluginStateError) in try t.refused(after: after, maximum: maximum) }
    }

    /// Deletes refused records for good, all or the groups that begin up to `upTo`; returns the number of deleted records.
    @discardableResult
    public func clearRefused(upTo: Int64 = .max) throws(PluginStateError) -> Int {
        try commit { (t) throws(PluginStateError) in try t.clearRefused(upTo: upTo) }
    }

    /// Puts refused records back at the end of the spool, all or none; throws `full` if they do not fit.
    ///
    /// Returns the new ids.
    @discardableResult
    public func requeueRefused(upTo: Int64 = .max) throws(PluginStateError) -> Range<Int64> {
        try commit { (t) throws(PluginStateError) in try t.requeueRefused(upTo: upTo) }
    }

    /// The counters of the spool.
    public func counters() throws(PluginStateError) -> SpoolCounters {
        try commit { (t) throws(PluginStateError) in try t.counters() }
    }

    private func commit<Result: Sendable>(
        _ body: @escaping @Sendable (borrowing Transaction) throws(PluginStateError) -> Result
    ) throws(PluginStateError) -> Result {
        do {
            return try transaction(body)
        } catch {
            throw PluginStateError(wrapping: error, "using the plugin's state", directory)
        }
    }
}
