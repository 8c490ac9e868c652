import HubStore
import HubWire
import Samples

extension ManualAnswer {
    /// - Parameters:
    ///   - others: records that stay unchanged, if they are known.
    ///   - last: the newest earlier record of the same type and person, by the place of a new record.
    init(_ results: [ManualResult], others: [Int64: StoredRecord], last: [Int: StoredRecord] = [:], isDryRun: Bool) {
        let entries = results.enumerated().map { place, result -> Entry in
            func entry(_ outcome: String, _ known: StoredRecord?, reason: String? = nil) -> Entry {
                Entry(number: result.number, outcome: outcome, reason: reason, known: known, last: last[place])
            }
            let other = others[result.number]
            return switch result.result {
            case .stored(let placement): entry("stored", placement.record)
            case .duplicate: entry("duplicate", other)
            case .rejected(let rejection):
                // The asker must not learn of a record of another person (R8.187).
                entry(
                    rejection.code.rawValue, rejection.code == .unknown ? nil : other, reason: rejection.reason)
            }
        }
        self.init(entries, isDryRun: isDryRun)
    }
}

extension Commands {
    /// Carries out the change of a person, or of a plugin within its bounds, in the order of commits; a dry run only returns the results.
    ///
    /// - Throws: `stopping` if the hub commits nothing more.
    func carryOut(_ action: ManualChange, _ call: OwnCommandCall) async throws -> [ManualResult] {
        guard let scope = call.scope else { return try await carryOut(action, isDryRun: call.isDryRun) }
        let results = try await carryOut(action, within: scope, isDryRun: call.isDryRun)
        if !call.isDryRun {
            let changed = results.compactMap {
                if case .stored(let placement) = $0.result { placement.number } else { nil }
            }
            audit.changed(changed, by: scope.instance)
        }
        return results
    }

    /// - Throws: `stopping` if the hub commits nothing more.
    func carryOut(_ action: ManualChange, isDryRun: Bool) async throws -> [ManualResult] {
        if isDryRun { return try await store.rehearse(action, recordedAt: facts.clock.now()) }
        guard let results = try await committer.carryOut(action) else {
            throw OwnCommandFailure("stopping", "the hub is stopping; nothing was changed")
        }
        return results
    }

    /// The report on a change of existing records.
    func report(_ results: [ManualResult], _ call: OwnCommandCall) async throws -> ManualAnswer {
        let unchanged = results.filter { if case .stored = $0.result { false } else { $0.number > 0 } }.map(\.number)
        let others = try await records(unchanged, call.scope)
        return ManualAnswer(results, others: others, isDryRun: call.isDryRun)
    }
}

extension Array {
    /// The elements in pieces of at most `size`.
    func chunks(of size: Int) -> [[Element]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
