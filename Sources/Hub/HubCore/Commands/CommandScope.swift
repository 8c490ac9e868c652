import HubStore
import HubWire
import Samples

/// The bounds of a plugin that uses the owner's commands (R12.14); the owner has no such bounds.
struct CommandScope: Sendable {
    /// The instance that asks.
    let instance: String
    private let reading: ReadGrant
    private let writing: Grants.Scope
    private let clock: HubClock

    /// - Returns: `nil` for the owner.
    init?(_ session: ClientSession, _ clock: HubClock) {
        guard let reading = session.narrowing else { return nil }
        (self.reading, self.clock) = (reading, clock)
        (instance, writing) = (session.instance, session.policy.grants.write)
    }

    /// Whether it may read and write everything.
    var isAll: Bool {
        reading.isAll && writing.types.contains("*") && writing.denied.isEmpty && writing.persons.contains("*")
    }

    /// The names of the persons that it may write for; `nil` for all.
    var persons: [String]? { writing.persons.contains("*") ? nil : writing.persons }

    /// The same bounds for the store, which checks them when the command is carried out.
    var writeScope: WriteScope {
        var scope = WriteScope(writing)
        scope.isByHand = true
        return scope
    }

    func mayRead(_ record: StoredRecord) -> Bool { reading.allows(record, by: clock) }

    /// Whether a record, or its replacement, is within the bounds for writing.
    func mayWrite(_ record: StoredRecord) -> Bool { mayWrite(record.type, of: record.assignment.person) }

    func mayWrite(_ type: TypeID, of person: Person?) -> Bool {
        writing.allows(type: type.rawValue) && person.map { writing.allows(person: $0.name) } ?? (persons == nil)
    }

    /// - Throws: `forbidden` unless the plugin may read and write everything, because `command` affects everything.
    func requireAllRecords(for command: String) throws(OwnCommandFailure) {
        guard !isAll else { return }
        throw OwnCommandFailure(
            "forbidden",
            "\(command): needs the right to read and write all types of all persons, which \(instance) does not have (hub permissions \(instance))"
        )
    }

    /// The rejection of a record that may be read but not changed.
    var refusal: RecordRejection {
        RecordRejection(
            .forbidden, "\(instance) may not write it, or another record of its group (hub permissions \(instance))")
    }
}

extension Commands {
    /// The records among these that the asker may read, by number.
    func records(_ numbers: [Int64], _ scope: CommandScope?) async throws -> [Int64: StoredRecord] {
        var found: [Int64: StoredRecord] = [:]
        for chunk in numbers.chunks(of: RecordQuery.maximumPage) {
            for record in try await store.records(numbers: chunk) where scope?.mayRead(record) ?? true {
                found[record.number] = record
            }
        }
        return found
    }

    /// Carries out a plugin's change on those records that the plugin may change.
    func carryOut(_ action: ManualChange, within scope: CommandScope, isDryRun: Bool) async throws -> [ManualResult] {
        if let records = action.logged { try scope.judge(records) }
        guard !scope.isAll else { return try await carryOut(action, isDryRun: isDryRun) }
        // Records may change before the command is carried out, so the store checks again in its transaction.
        let (bound, numbers) = (action.bound(to: scope.writeScope), action.named)
        guard !numbers.isEmpty else { return try await carryOut(bound, isDryRun: isDryRun) }
        var refused = try await refusals(of: action, numbers, scope)
        if action.isWhole, let refusal = refused.values.first, let whole = numbers.first {
            return [ManualResult(number: whole, result: .rejected(refused[whole] ?? refusal))]
        }
        let left = numbers.filter { refused[$0] == nil }
        let done = left.isEmpty ? [] : try await carryOut(bound.narrowed(to: left), isDryRun: isDryRun)
        guard !refused.isEmpty else { return done }
        var parts = Self.parts(of: done, left)
        var results = numbers.flatMap { number in
            refused.removeValue(forKey: number).map { [ManualResult(number: number, result: .rejected($0))] }
                ?? parts.removeValue(forKey: number) ?? []
        }
        for rest in parts.sorted(by: { $0.key < $1.key }) { results += rest.value }
        return results
    }

    /// The named records that this asker cannot change, because of themselves or of other records that would change with them.
    private func refusals(
        of action: ManualChange, _ numbers: [Int64], _ scope: CommandScope
    ) async throws -> [Int64: RecordRejection] {
        var refused: [Int64: RecordRejection] = [:]
        let known = try await records(numbers, scope)
        for number in numbers {
            guard let record = known[number] else {
                refused[number] = RecordRejection(.unknown, "no record has the number \(number)")
                continue
            }
            if !scope.mayWrite(record) { refused[number] = scope.refusal }
        }
        let left = numbers.filter { refused[$0] == nil }
        guard !left.isEmpty else { return refused }
        // Without its condition, because a condition that fails now may hold when the command is carried out.
        let rehearsed = try await store.rehearse(
            action.unconditional.narrowed(to: left), recordedAt: facts.clock.now())
        let others = Set(rehearsed.map(\.number)).subtracting(left)
        let readable = try await records(Array(others), scope)
        for (number, part) in Self.parts(of: rehearsed, left)
        where part.contains(where: { others.contains($0.number) && !(readable[$0.number].map(scope.mayWrite) ?? false) }
        ) {
            refused[number] = scope.refusal
        }
        return refused
    }

    /// The results of each named record, followed by those of its group.
    private static func parts(of results: [ManualResult], _ named: [Int64]) -> [Int64: [ManualResult]] {
        let named = Set(named)
        var (parts, current): ([Int64: [ManualResult]], Int64?) = ([:], nil)
        for result in results {
            if named.contains(result.number) { current = result.number }
            if let current { parts[current, default: []].append(result) }
        }
        return parts
    }
}

extension CommandScope {
    /// - Throws: `forbidden` for a record that the plugin may not give.
    fileprivate func judge(_ records: [IntakeRecord]) throws(OwnCommandFailure) {
        for record in records {
            guard case .sample(let sample) = record.record, !mayWrite(sample.type, of: record.assignment.person) else {
                continue
            }
            throw OwnCommandFailure(
                "forbidden",
                "type: \(instance) may not write \(sample.type.rawValue) of this person (hub permissions \(instance))")
        }
    }
}
