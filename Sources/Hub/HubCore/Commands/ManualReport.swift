import HubStore
import HubWire
import Samples

/// The effect of a manual command on each record, or the effect that it would have (Protocol §8.3).
struct ManualReport {
    private struct Entry: Encodable {
        /// 0 for a new record that was rejected.
        var number: Int64
        var type: String?
        var person: String?
        /// `stored`, `duplicate` (the record is already in that state), or the code of a rejection, such as `unknown`.
        var outcome: String
        var seq: Int64?
        /// The reason of a rejection.
        var reason: String?
    }

    let json: RawJSON

    /// - Parameters:
    ///   - others: records that stay unchanged, if they are known.
    ///   - last: the newest earlier record of the same type and person, by the place of a new record.
    init(_ results: [ManualResult], others: [Int64: StoredRecord], last: [Int: StoredRecord] = [:], isDryRun: Bool) {
        var bytes = Array("{\"dryRun\":\(isDryRun),\"records\":[".utf8)
        for (place, result) in results.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            var record = others[result.number]
            var entry = Entry(number: result.number, outcome: "duplicate")
            var members: [(name: String, value: RawJSON)] = []
            switch result.result {
            case .stored(let placement):
                (entry.outcome, record) = ("stored", placement.record)
                if let record { members.append(("record", Self.canonical(record))) }
            case .duplicate: break
            case .rejected(let rejection):
                (entry.outcome, entry.reason) = (rejection.code.rawValue, rejection.reason)
                // The asker must not learn of a record of another person (R8.187).
                if rejection.code == .unknown { record = nil }
            }
            (entry.type, entry.person) = (record?.type.rawValue, record?.assignment.person?.name)
            entry.seq = record?.sequence
            if let last = last[place] { members.append(("last", Self.canonical(last))) }
            let object = RawJSON(encoding: entry)
            bytes += (object.setting(members) ?? object).bytes
        }
        json = RawJSON(trusted: bytes + Array("]}".utf8))
    }

    private static func canonical(_ record: StoredRecord) -> RawJSON {
        var bytes: [UInt8] = []
        RecordEncoder.append(record, to: &bytes)
        return RawJSON(trusted: bytes)
    }
}

extension Commands {
    /// Carries out the change of a person, or of a plugin within its bounds, in the order of commits; a dry run only returns the results.
    ///
    /// - Throws: `stopping` if the hub commits nothing more.
    func carryOut(_ action: ManualChange, _ call: CommandCall) async throws -> [ManualResult] {
        guard let scope = call.scope else { return try await carryOut(action, isDryRun: call.isDryRun) }
        let results = try await carryOut(action, within: scope, isDryRun: call.isDryRun)
        if !call.isDryRun {
            let changed = results.compactMap {
                if case .stored(let placement) = $0.result { placement.number } else { nil }
            }
            auditRecords(changed, scope.instance)
        }
        return results
    }

    /// - Throws: `stopping` if the hub commits nothing more.
    func carryOut(_ action: ManualChange, isDryRun: Bool) async throws -> [ManualResult] {
        if isDryRun { return try await store.rehearse(action, recordedAt: facts.clock.now()) }
        guard let results = try await committer.carryOut(action) else {
            throw CommandFailure("stopping", "the hub is stopping; nothing was changed")
        }
        return results
    }

    /// The report on a change of existing records.
    func report(_ results: [ManualResult], _ call: CommandCall) async throws -> RawJSON {
        let unchanged = results.filter { if case .stored = $0.result { false } else { $0.number > 0 } }.map(\.number)
        let others = try await records(unchanged, call.scope)
        return ManualReport(results, others: others, isDryRun: call.isDryRun).json
    }
}

extension Array {
    /// The elements in pieces of at most `size`.
    func chunks(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
