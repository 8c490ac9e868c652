import PluginKit

/// The hub as posts and messages use it: ``PluginContext`` in a running plugin, a fake in the fuzzer.
protocol IngestHub: Sendable {
    var kind: String { get }
    var persons: [Welcome.PersonEntry] { get }
    var clock: HubClock { get }
    var state: PluginState { get }
    var logger: Logger { get }
    var isStopping: Bool { get }

    /// Returns when the hub has answered for each record.
    func store(_ records: [Record], isBackfill: Bool) async throws(GiveError) -> [RecordResult]
    /// Returns when the records are on disk, to be sent when the hub is available.
    func give(_ records: [Record]) async throws(GiveError)
    func retract(_ keys: [RecordKey], of source: Source, reason: String) async throws(GiveError) -> [RecordResult]
    func event(_ event: DeviceEvent) async
}

extension PluginContext: IngestHub {
    func give(_ records: [Record]) async throws(GiveError) { try await give(records, saving: [:]) }

    func retract(
        _ keys: [RecordKey], of source: Source, reason: String
    ) async throws(GiveError) -> [RecordResult] {
        try await retract(keys, of: Optional(source), reason: Optional(reason))
    }
}
