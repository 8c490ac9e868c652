import PluginKit

/// The hub's current days of the series that are sent.
struct DayTable: Sendable {
    private(set) var days: [RecordIdentity: StoredRecord] = [:]
    private var cursor: Cursor?

    /// Asks the hub for changes since the last call; reads everything the first time and after a restore of the hub.
    mutating func refresh(_ hub: PluginContext, _ settings: ExistSettings) async throws {
        do {
            try await read(hub, settings)
        } catch let error as AskError where cursor != nil && error.code == .refused {
            // The hub has a new epoch: it was restored, and its sequence numbers start again.
            self = DayTable()
            try await read(hub, settings)
        }
    }

    private mutating func read(_ hub: PluginContext, _ settings: ExistSettings) async throws {
        var filter = QueryRequest.Filter()
        filter.types = Set(settings.attributes.compactMap { $0.source?.type.rawValue }).sorted()
        filter.kinds = [.day]
        for try await page in hub.query(filter, since: cursor) {
            for stored in page.records {
                switch stored.record {
                case .day: days[stored.record.identity] = stored
                case .retraction: days[stored.record.identity] = nil
                case .sample: continue
                }
            }
            cursor = page.cursor ?? cursor
        }
    }
}
