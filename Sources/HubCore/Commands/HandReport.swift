import HubStore
import HubWire
import Samples

/// What a command of a person's own hand did to each record, or would do.
struct HandReport: Encodable {
    struct Entry: Encodable {
        /// 0 for a new record that was rejected.
        var number: Int64
        var type: String?
        var person: String?
        /// `stored`, `duplicate` (it is so already), or the code of a rejection, such as `unknown`.
        var outcome: String
        var seq: Int64?
        /// Of a rejection: why.
        var reason: String?
    }
    var records: [Entry]
    var dryRun: Bool
}

extension Bus {
    /// Does what a person asked for, in the line of the commits, or says what that would do.
    ///
    /// - Throws: `stopping` when no more commits come.
    func carryOut(_ action: HandAction, isDryRun: Bool) async throws -> [HandResult] {
        if isDryRun { return try await store.rehearse(action, recordedAt: facts.clock.now()) }
        guard let results = try await committer.carryOut(action) else {
            throw CommandFailure("stopping", "the hub is stopping; nothing was changed")
        }
        return results
    }

    /// What a person's records are afterwards: a rehearsal's records are in the results alone.
    func report(_ results: [HandResult], isDryRun: Bool) async throws -> HandReport {
        var others: [Int64: StoredRecord] = [:]
        let unchanged = results.filter { if case .stored = $0.result { false } else { $0.number > 0 } }.map(\.number)
        for chunk in unchanged.chunks(of: RecordQuery.maximumPage) {
            for record in try await store.records(numbers: chunk) { others[record.number] = record }
        }
        return HandReport(
            records: results.map { HandReport.Entry($0, others[$0.number]) }, dryRun: isDryRun)
    }
}

extension HandReport.Entry {
    fileprivate init(_ result: HandResult, _ known: StoredRecord?) {
        number = result.number
        var record = known
        switch result.result {
        case .stored(let placement): (outcome, record) = ("stored", placement.record)
        case .duplicate: outcome = "duplicate"
        case .rejected(let rejection): (outcome, reason) = (rejection.code, rejection.reason)
        }
        (type, person, seq) = (record?.type.rawValue, record?.assignment.person?.name, record?.sequence)
    }
}

extension Array {
    /// The elements in pieces of at most `size`.
    func chunks(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
