import PluginKit

/// What posts and messages need of the hub: a running plugin has it of its ``PluginContext``, the fuzzer of a stand-in.
protocol IngestHub: Sendable {
    var kind: String { get }
    var persons: [Welcome.PersonEntry] { get }
    var clock: HubClock { get }
    var state: PluginState { get }
    var logger: Logger { get }
    var isStopping: Bool { get }

    /// Returns when the hub has answered each record.
    func store(_ records: [Record], isBackfill: Bool) async throws(GiveError) -> [RecordResult]
    /// Returns when the records are on the disk, to be sent when the hub is there.
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
