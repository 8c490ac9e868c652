import HealthExports
import HubClient
import HubWire
import Samples

/// The records of a query in an order that depends only on the records (``ExportRuns``).
struct RecordStream {
    let door: DoorClient
    let filter: QueryRequest.Filter
    /// Whether to read days too, after the samples.
    let withDays: Bool

    /// Passes on the hub's records in runs with the same start or date.
    ///
    /// - Parameter page: called after each page with its number of records.
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
        var runs = ExportRuns()
        var query = QueryRequest(id: 0, filter: filter, order: .time)
        query.marksMirrors = filter.kinds != [.day]
        try door.pages(query) { records, _ in
            for json in records {
                let stored = try reader.record(json)
                let next = runs.add(ExportItem(stored, json: Array(json)))
                if !next.isEmpty { try run(next) }
            }
            try page(records.count)
        }
        let last = runs.finish()
        if !last.isEmpty { try run(last) }
    }

    /// The current number of records.
    func count() throws -> Int64 {
        var filter = filter
        filter.kinds = RecordKind.allCases.filter { RecordKind.samples.contains($0) || $0 == .day && withDays }
        return try door.sources(filter).reduce(0) { $0 + $1.count }
    }
}
