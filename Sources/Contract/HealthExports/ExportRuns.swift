import Samples

/// Sorts records of the same start time by type, person, source and key, so that the order depends only on the records.
///
/// Two hubs with the same records then write the same file. The records must arrive by start time; only those of one start time are in memory.
public struct ExportRuns {
    private var waiting: [ExportItem] = []
    private var instant: Int64?

    public init() {}

    /// Adds the next record.
    ///
    /// - Returns: the records of the previous start time, once a record with a later one arrives.
    public mutating func add(_ item: ExportItem) -> [ExportItem] {
        let start = item.record.startInstant
        let run = start != instant ? finish() : []
        instant = start
        waiting.append(item)
        return run
    }

    /// Returns the records of the last start time.
    public mutating func finish() -> [ExportItem] {
        defer { waiting.removeAll(keepingCapacity: true) }
        guard waiting.count > 1 else { return waiting }
        return waiting.map { (order: $0.record.placeInFile, item: $0) }
            .sorted { $0.order.lexicographicallyPrecedes($1.order) { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
            .map(\.item)
    }
}

extension StoredRecord {
    /// The start of a sample.
    ///
    /// For a day it is the date, because the hub knows no instant for it.
    fileprivate var startInstant: Int64 {
        switch record {
        case .sample(let sample): sample.start.microseconds
        case .day(let day): Int64(day.date.daysSinceEpoch)
        case .retraction: 0
        }
    }

    /// The sort key of a record among the records of its start time.
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
