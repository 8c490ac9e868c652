import PluginKit
import Samples

/// Stores days with the hub.
struct DayPublisher: Sendable {
    let hub: PluginContext
    let library: ReadingIndex

    /// More days than this at once are history, which the feed does not carry one by one.
    static let maximumPublishedDays = 400

    /// Stores changed days and retracts removed ones; returns when the hub has answered for each.
    ///
    /// - Parameter isRetry: also stores the days again that the hub had rejected.
    func store(_ edits: [ReadingIndex.Edit], isRetry: Bool, _ rejections: inout Rejections) async throws {
        guard !edits.isEmpty || isRetry && !rejections.isEmpty else { return }
        try await remember(Set(edits.map { SeriesName(library.shelves[$0.shelf], $0.change.series) }))
        var records = edits.map { edit -> Record in
            let shelf = library.shelves[edit.shelf]
            if let day = edit.change.now {
                return .day(shelf.record(day, of: edit.change.series, source: hub.source()))
            }
            return retraction(SeriesName(shelf, edit.change.series), LocalDate(edit.change.day), Self.vanished)
        }
        if isRetry {
            let changed = Set(records.map(\.identity))
            records += rejections.records.filter { !changed.contains($0.identity) }
        }
        try await store(records, isBackfill: records.count > Self.maximumPublishedDays, &rejections)
    }

    static let vanished = "no reading reaches this day any longer"
    static let unmade = "the settings no longer make this series"

    func retraction(_ series: SeriesName, _ date: LocalDate, _ reason: String) -> Record {
        .retraction(
            Retraction(
                identity: .day(person: series.person, type: series.type, series: series.series, date: date),
                source: hub.source(), reason: reason))
    }

    /// Stores records, returns when the hub has answered for each, and notes the rejected ones.
    func store(_ records: [Record], isBackfill: Bool, _ rejections: inout Rejections) async throws {
        rejections.note(records, try await hub.store(records, isBackfill: isBackfill))
    }

    // MARK: - The series of this plugin

    /// Saves series before their first day is stored, so that days of a removed setting are found without touching another plugin's.
    func remember(_ series: Set<SeriesName>) async throws {
        try await hub.state.transaction { state in
            for key in series.map(\.key) where try state.integer(key) == nil { try state.set(key, to: .integer(1)) }
        }
    }

    func forget(_ series: SeriesName) async throws { try await hub.state.set(series.key, to: nil) }

    func remembered() async throws -> Set<SeriesName> {
        Set(
            try await hub.state.transaction { try $0.keys(prefix: SeriesName.prefix) }.compactMap(SeriesName.init(key:))
        )
    }
}

/// A series of a person.
struct SeriesName: Hashable, Sendable {
    let person: String
    let type: TypeID
    let series: String

    init(person: String, type: TypeID, series: String) {
        (self.person, self.type, self.series) = (person, type, series)
    }

    init(_ shelf: SeriesTable, _ series: Int) {
        self.init(person: shelf.key.person, type: shelf.key.type, series: shelf.history.rules[series].name)
    }

    static let prefix = "series/"
    var key: String { "\(Self.prefix)\(series)/\(type)/\(person)" }

    init?(key: String) {
        let parts = key.split(separator: "/", maxSplits: 3).map(String.init)
        guard parts.count == 4, let type = try? TypeID(parts[2]) else { return nil }
        self.init(person: parts[3], type: type, series: parts[1])
    }
}
