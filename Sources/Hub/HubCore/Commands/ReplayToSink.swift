import HubStore
import HubWire
import Samples

extension OwnCommands.Replay: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> Result {
        let query = try query()
        let targets = try await hub.store.sinks(named: to)
        var entries: [SinkRecords] = []
        var total: Int64 = 0
        for id in targets {
            let before = total
            let count = try await hub.store.replay(
                to: id, matching: query, dryRun: call.isDryRun, at: hub.facts.clock.now()
            ) { call.progress(before + $0, of: nil, "\(id)") }
            total += count
            entries.append(SinkRecords(sink: "\(id)", records: count))
            if !call.isDryRun { hub.door.deliveries.wake(id) }
        }
        return Result(sinks: entries, dryRun: call.isDryRun)
    }

    private func query() throws -> RecordQuery {
        var query = RecordQuery()
        query.setSpan(from: try from.map { try RecordQuery.time($0, "from") }, to: nil)
        if let since {
            guard let cursor = Cursor(since) else {
                throw OwnCommandFailure(problems: ["since: expected a cursor, such as k7qz2m5a-1042"])
            }
            query.since = cursor
        }
        query.types = try types.map { try RecordQuery.types($0) }
        return query
    }
}

extension OwnCommands.ForgetSink: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> Result {
        var entries: [Result.Entry] = []
        for id in try await hub.store.sinks(named: sink) {
            let account = try await hub.store.sink(id).account
            entries.append(Result.Entry(sink: "\(id)", undelivered: account.pending + account.retrying))
            guard !call.isDryRun else { continue }
            hub.door.deliveries.drop(id, WireError(.replaced, "a person had the hub forget this subscription"))
            try await hub.store.forgetSink(id, recordedAt: hub.facts.clock.now())
        }
        return Result(sinks: entries, dryRun: call.isDryRun)
    }
}

extension Store {
    /// The subscriptions that match a name: one by `instance/want`, or all of an instance.
    /// - Throws: ``OwnCommandFailure``, which lists the existing sinks.
    fileprivate func sinks(named name: String) async throws -> [SinkID] {
        let known = try await sinkNames()
        let found = known.filter { "\($0)" == name || $0.instance == name }
        guard found.isEmpty else { return found.sorted { "\($0)" < "\($1)" } }
        let names = known.map(\.description).sorted()
        let hint = nearestName(to: name, among: names + known.map(\.instance)).map { "did you mean \($0)?" }
        throw OwnCommandFailure(
            "command",
            "the hub has no sink \"\(name.prefix(128))\"; "
                + (hint ?? (names.isEmpty ? "it has none" : "it has \(names.prefix(20).joined(separator: ", "))")))
    }
}
