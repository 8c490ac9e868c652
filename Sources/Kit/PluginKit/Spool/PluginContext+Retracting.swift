public import HubWire
public import Samples

/// Retracts records that this plugin gave, by identity or by a filter; records of other plugins are out of reach.
extension PluginContext {
    /// Retracts samples of this plugin and waits until the hub has answered each; the retractions are not atomic.
    ///
    /// The plugin needs the right to write their types. A sample that the hub does not hold is `rejected` with code `unknown`; a sample that
    /// was already retracted is a `duplicate`. A retraction ends when the plugin sends the sample again.
    /// - Parameters:
    ///   - keys: at least one key; a repeated key counts once.
    ///   - source: the source of the samples, with device and account; `nil` for the source without either.
    ///   - reason: the reason, in words for people.
    /// - Returns: one result per key, in the order of the keys, without repetitions.
    /// - Throws: ``GiveError`` `invalid` for an empty list, `refused` or `stopping`; repeating the call is harmless.
    @discardableResult
    public func retract(
        _ keys: [RecordKey], of source: Source? = nil, reason: String? = nil
    ) async throws(GiveError) -> [RecordResult] {
        let source = source ?? self.source()
        guard source.plugin == kind else {
            throw GiveError(.invalid, "a plugin takes back its own records, and these are of \(source.plugin)")
        }
        guard !keys.isEmpty else { throw GiveError(.invalid, "there is nothing to take back: the list is empty") }
        var seen: Set<RecordKey> = []
        return try await store(
            keys.filter { seen.insert($0).inserted }.map { key in
                .retraction(Retraction(identity: .sample(source, key), source: source, reason: reason))
            })
    }

    /// Retracts the samples of this plugin that a filter selects, page by page; its days are not changed.
    ///
    /// The plugin needs the right to read and to write their types; samples that it may not read are not selected. Samples given during the
    /// call may be retracted, too.
    /// - Parameters:
    ///   - filter: the conditions; the call sets `sources` and `kinds`. Without any other condition it selects all samples of this plugin.
    ///   - reason: the reason, in words for people.
    /// - Returns: the number of retracted samples.
    /// - Throws: ``GiveError`` or ``AskError``; samples retracted before the error stay retracted, and repeating the call retracts the rest.
    @discardableResult
    public func retract(matching filter: QueryRequest.Filter, reason: String? = nil) async throws -> Int {
        var filter = filter
        (filter.sources, filter.kinds) = ([kind], nil)
        var count = 0
        for try await page in query(filter) {
            let own = page.records.compactMap { stored -> (source: Source, key: RecordKey)? in
                guard case .sample(let sample) = stored.record, sample.source.plugin == kind else { return nil }
                return (sample.source, sample.key)
            }
            guard !own.isEmpty else { continue }
            let results = try await store(
                own.map { source, key in
                    Record.retraction(Retraction(identity: .sample(source, key), source: source, reason: reason))
                })
            count += results.count { if case .stored = $0 { true } else { false } }
        }
        return count
    }
}
