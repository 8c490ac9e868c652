import Samples

/// Brings records that come by their start into an order that depends on nothing but the records: of one start by type, person, source
/// and key.
///
/// So two hubs with the same records make the same file. Holds the records of one start, and no more.
public struct ExportRuns {
    private var waiting: [ExportItem] = []
    private var instant: Int64?

    public init() {}

    /// Takes the next record.
    ///
    /// - Returns: those of the start before, once this one begins later.
    public mutating func add(_ item: ExportItem) -> [ExportItem] {
        let start = item.record.startInstant
        let run = start != instant ? finish() : []
        instant = start
        waiting.append(item)
        return run
    }

    /// Those of the last start.
    public mutating func finish() -> [ExportItem] {
        defer { waiting.removeAll(keepingCapacity: true) }
        guard waiting.count > 1 else { return waiting }
        return waiting.map { (order: $0.record.placeInFile, item: $0) }
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
