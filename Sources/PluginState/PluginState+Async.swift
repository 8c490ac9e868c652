// One transaction each, for `async` functions. The rules are those of the `Transaction` call of the same name.

extension PluginState {
    /// The text under `key`, or nil when there is none; `invalid` when it holds another kind of value.
    public func text(_ key: String) async throws(PluginStateError) -> String? {
        try await commit { (t) throws(PluginStateError) in try t.text(key) }
    }

    /// The integer under `key`, or nil when there is none; `invalid` when it holds another kind of value.
    public func integer(_ key: String) async throws(PluginStateError) -> Int64? {
        try await commit { (t) throws(PluginStateError) in try t.integer(key) }
    }

    /// The bytes under `key`, or nil when there is none; `invalid` when it holds another kind of value.
    public func bytes(_ key: String) async throws(PluginStateError) -> [UInt8]? {
        try await commit { (t) throws(PluginStateError) in try t.bytes(key) }
    }

    /// Puts `value` under `key`; nil removes it.
    public func set(_ key: String, to value: StateValue?) async throws(PluginStateError) {
        try await commit { (t) throws(PluginStateError) in try t.set(key, to: value) }
    }

    /// Puts `groups` at the end of the spool, all or none; `full` at the bound.
    ///
    /// Returns the ids of the records.
    @discardableResult
    public func spool(_ groups: [[[UInt8]]]) async throws(PluginStateError) -> Range<Int64> {
        try await commit { (t) throws(PluginStateError) in try t.spool(groups) }
    }

    /// The next whole groups after the record `after`, in order, without removing them; always at least one.
    public func nextBatch(maximumRecords: Int, maximumBytes: Int, after: Int64 = 0) async throws(PluginStateError)
        -> [SpooledRecord]
    {
        try await commit { (t) throws(PluginStateError) in
            try t.nextBatch(maximumRecords: maximumRecords, maximumBytes: maximumBytes, after: after)
        }
    }

    /// Takes records out of the spool because the hub has them; returns how many were still there.
    @discardableResult
    public func remove(_ ids: [Int64], as removal: Removal) async throws(PluginStateError) -> Int {
        try await commit { (t) throws(PluginStateError) in try t.remove(ids, as: removal) }
    }

    /// Takes every record up to and including `id` out of the spool because the hub has them; returns how many.
    @discardableResult
    public func remove(upTo id: Int64, as removal: Removal) async throws(PluginStateError) -> Int {
        try await commit { (t) throws(PluginStateError) in try t.remove(upTo: id, as: removal) }
    }

    /// Moves records the hub rejected out of the spool, to where a person finds them; returns how many.
    @discardableResult
    public func refuse(_ refusals: [SpoolRefusal], at time: Int64) async throws(PluginStateError) -> Int {
        try await commit { (t) throws(PluginStateError) in try t.refuse(refusals, at: time) }
    }

    /// Refused records behind the record `after`, in the order they were spooled.
    public func refused(after: Int64 = 0, maximum: Int = 1000) async throws(PluginStateError) -> [RefusedRecord] {
        try await commit { (t) throws(PluginStateError) in try t.refused(after: after, maximum: maximum) }
    }

    /// Forgets refused records for good, all or the groups that begin up to `upTo`; returns how many.
    @discardableResult
    public func clearRefused(upTo: Int64 = .max) async throws(PluginStateError) -> Int {
        try await commit { (t) throws(PluginStateError) in try t.clearRefused(upTo: upTo) }
    }

    /// Puts refused records back at the end of the spool, all or none; `full` when they do not fit.
    ///
    /// Returns the new ids.
    @discardableResult
    public func requeueRefused(upTo: Int64 = .max) async throws(PluginStateError) -> Range<Int64> {
        try await commit { (t) throws(PluginStateError) in try t.requeueRefused(upTo: upTo) }
    }

    /// The accounts.
    public func counters() async throws(PluginStateError) -> SpoolCounters {
        try await commit { (t) throws(PluginStateError) in try t.counters() }
    }

    private func commit<Result: Sendable>(
        _ body: @escaping @Sendable (borrowing Transaction) throws(PluginStateError) -> Result
    ) async throws(PluginStateError) -> Result {
        do {
            return try await transaction(body)
        } catch {
            throw PluginStateError(wrapping: error, "using the plugin's state", directory)
        }
    }
}
