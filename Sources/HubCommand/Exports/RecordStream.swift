import HealthExports
import HubClient
import HubWire
import Samples

/// The records of a question in an order that depends on nothing but the records: by start, and of one start by type, person, source and
/// key.
///
/// So two hubs with the same records make the same file. Holds the records of one start, and no more.
struct RecordStream {
    let door: DoorClient
    let filter: QueryRequest.Filter
    /// Whether days are asked for, after the samples.
    let withDays: Bool

    /// Hands on what the hub has, in runs of one start or date.
    ///
    /// - Parameter page: called after each page, with how many records it had.
    func read(_ run: ([ExportItem]) throws -> Void, page: (Int) throws -> Void) throws {
        var filter = filter
        filter.kinds = RecordKind.allCases.filter(RecordKind.samples.contains)
        try read(filter, run, page)
        guard withDays else { return }
        filter.kinds = [.day]
        try read(filter, run, page)
    }

    private func read(
        _ filter: QueryRequest.Filter, _ run: ([ExportItem]) throws -> Void, _ page: (Int) throws -> Void
    ) throws {
        var reader = RecordReader()
        var waiting: [ExportItem] = []
        var instant: Int64?
        try door.pages(QueryRequest(id: 0, filter: filter, order: .time)) { records, _ in
            for json in records {
                let stored = try reader.record(json)
                let start = stored.startInstant
                if start != instant, !waiting.isEmpty {
                    try run(RecordStream.sorted(waiting))
                    waiting.removeAll(keepingCapacity: true)
                }
                instant = start
                waiting.append(ExportItem(stored, json: Array(json)))
            }
            try page(records.count)
        }
        if !waiting.isEmpty { try run(RecordStream.sorted(waiting)) }
    }

    /// How many records it will have, at the moment.
    func count() throws -> Int64 {
        var query = QueryRequest(id: 0, want: .sources, filter: filter)
        query.filter.kinds = RecordKind.allCases.filter {
            RecordKind.samples.contains($0) || $0 == .day && withDays
        }
        var count: Int64 = 0
        repeat {
            guard case .answer(.sources, let page) = try door.ask(query).content else {
                throw Failure(.dialogue, "the hub answered a question about sources without sources")
            }
            let sources = try JSON.answer(SourcesPage.self, page)
            count += sources.sources.reduce(0) { $0 + $1.count }
            query.next = sources.next
        } while query.next != nil
        return count
    }

    private static func sorted(_ items: [ExportItem]) -> [ExportItem] {
        guard items.count > 1 else { return items }
        return items.map { (order: $0.record.placeInFile, item: $0) }
            .sorted { $0.order.lexicographicallyPrecedes($1.order) { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
            .map(\.item)
    }
}

extension StoredRecord {
    /// The start of a sample; of a day its date, of which the hub knows no instant.
    fileprivate var startInstant: Int64 {
        switch record {
        case .sample(let sample): sample.start.microseconds
        case .day(let day): Int64(day.date.daysSinceEpoch)
        case .retraction: 0
        }
    }

    /// What tells it from all others of its start.
    fileprivate var placeInFile: [String] {
        let source = record.source
        let origin = [source.plugin, source.device ?? "", source.account ?? ""]
        let person = assignment.person?.name ?? ""
        return switch record {
        case .sample(let sample): [type.rawValue, person] + origin + [sample.key.text]
        case .day(let day): [type.rawValue, person, day.series] + origin
        case .retraction: [type.rawValue, person] + origin
        }
    }
}
