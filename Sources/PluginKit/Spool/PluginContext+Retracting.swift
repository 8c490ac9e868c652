public import HubWire
public import Samples

/// Taking back what this plugin gave: by identity, as a list, or by a filter. What others gave is out of its reach.
extension PluginContext {
    /// Takes back samples of this plugin and waits until the hub has answered each; one after the other, not all or none.
    ///
    /// Needs the right to write their types. A sample that the hub does not hold is `rejected` with code `unknown`; one that was
    /// taken back before is a `duplicate`. It ends when the plugin sends the sample again.
    /// - Parameters:
    ///   - keys: at least one; a repeat counts once.
    ///   - source: whose they are, with device and account; `nil` for the source without either.
    ///   - reason: why, in words for people.
    /// - Returns: a result per key, in the order of the keys, without repeats.
    /// - Throws: ``GiveError`` `invalid` for an empty list, `refused` or `stopping`; a repeat of the call is harmless.
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

    /// Takes back the samples of this plugin that a filter finds, page by page; its days are left as they are.
    ///
    /// Needs the right to read and to write their types; what it may not read is not found. What is given meanwhile may be found
    /// as well.
    /// - Parameters:
    ///   - filter: its `sources` and `kinds` are set here; without any other condition it finds all of this plugin's samples.
    ///   - reason: why, in words for people.
    /// - Returns: how many were taken back.
    /// - Throws: ``GiveError`` or ``AskError``; what was taken back until then stays so, and a repeat of the call does the rest.
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
