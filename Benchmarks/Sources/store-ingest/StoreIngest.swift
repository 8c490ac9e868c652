import HubStore
import Samples

/// Measures the store alone: copies the records of a hub's store into a new one, a given number a commit, and prints the records a second.
@main
enum StoreIngest {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let size = Int(arguments[3]), size > 0 else {
            fatalError("usage: store-ingest STORE NEW_STORE RECORDS_PER_COMMIT")
        }
        let target = try Store(path: arguments[2], now: 0)
        let person = try await target.ensurePersons(["me"], recordedAt: 0)[0]
        let records = try await records(of: arguments[1], person)
        let commits = stride(from: 0, to: records.count, by: size).map { start in
            IntakeBatch(instance: "bench", records: Array(records[start..<min(start + size, records.count)]))
        }
        let begin = ContinuousClock.now
        for (number, batch) in commits.enumerated() { _ = try await target.commit([batch], recordedAt: Int64(number)) }
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        precondition(target.head == records.count, "not every record was stored")
        print("records_per_s", Double(records.count) / seconds)
        try target.close()
    }

    private static func records(of path: String, _ person: Person) async throws -> [IntakeRecord] {
        let source = try Store(path: path, now: 0)
        var query = RecordQuery()
        query.limit = RecordQuery.maximumPage
        var records: [IntakeRecord] = []
        repeat {
            let page = try await source.page(query)
            records += page.records.map {
                IntakeRecord(record: $0.record, assignment: .person(person), canonical: $0.canonical)
            }
            query.next = page.next
        } while query.next != nil
        try source.close()
        return records
    }
}
