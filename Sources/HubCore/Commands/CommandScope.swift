import HubSessions
import HubStore
import HubWire
import Samples

/// What a plugin may see and change by commands that are the owner's (R12.14); the owner has no such bounds.
struct CommandScope: Sendable {
    /// Who asks.
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

    /// Whether it may read and write whatever there is.
    var isAll: Bool {
        reading.isAll && writing.types.contains("*") && writing.denied.isEmpty && writing.persons.contains("*")
    }

    /// The persons by name that it may write for; `nil` for all.
    var persons: [String]? { writing.persons.contains("*") ? nil : writing.persons }

    /// The same for the store, which compares when the turn of a command comes.
    var writeScope: WriteScope {
        var scope = WriteScope(
            types: writing.types.contains("*") ? nil : Set(writing.types), exceptTypes: Set(writing.denied),
            persons: persons.map { Set($0) })
        scope.isByHand = true
        return scope
    }

    func mayRead(_ record: StoredRecord) -> Bool { reading.allows(record, by: clock) }

    /// Whether a record, or what takes its place, is within what it may write.
    func mayWrite(_ record: StoredRecord) -> Bool { mayWrite(record.type, of: record.assignment.person) }

    func mayWrite(_ type: TypeID, of person: Person?) -> Bool {
        writing.allows(type: type.rawValue) && person.map { writing.allows(person: $0.name) } ?? (persons == nil)
    }

    /// - Throws: `forbidden` where it may not read and write everything, as what `command` does concerns everything.
    func demandAll(for command: String) throws(CommandFailure) {
        guard !isAll else { return }
        throw CommandFailure(
            "forbidden",
            "\(command): only a plugin that may read and write all types of all persons; \(instance) may not (hub permissions \(instance))"
        )
    }

    /// That a record may be read and not changed.
    var refusal: Rejection {
        Rejection(
            code: "forbidden",
            reason: "\(instance) may not write it, or another record of its group (hub permissions \(instance))")
    }
}

extension Commands {
    /// Those of some records that the asker may read, by number.
    func records(_ numbers: [Int64], _ scope: CommandScope?) async throws -> [Int64: StoredRecord] {
        var found: [Int64: StoredRecord] = [:]
        for chunk in numbers.chunks(of: RecordQuery.maximumPage) {
            for record in try await store.records(numbers: chunk) where scope?.mayRead(record) ?? true {
                found[record.number] = record
            }
        }
        return found
    }

    /// Does what a plugin asked for to the records that it may change, and to none else.
    func carryOut(_ action: ManualChange, within scope: CommandScope, isDryRun: Bool) async throws -> [ManualResult] {
        if let records = action.logged { try scope.judge(records) }
        guard !scope.isAll else { return try await carryOut(action, isDryRun: isDryRun) }
        // Records may change until the turn of the command comes: the store compares in its transaction.
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

    /// Which of the named records cannot be changed by this asker, for themselves or for what would be changed with them.
    private func refusals(
        of action: ManualChange, _ numbers: [Int64], _ scope: CommandScope
    ) async throws -> [Int64: Rejection] {
        var refused: [Int64: Rejection] = [:]
        let known = try await records(numbers, scope)
        for number in numbers {
            guard let record = known[number] else {
                refused[number] = Rejection(code: "unknown", reason: "no record has the number \(number)")
                continue
            }
            if !scope.mayWrite(record) { refused[number] = scope.refusal }
        }
        let left = numbers.filter { refused[$0] == nil }
        guard !left.isEmpty else { return refused }
        // Without its condition: what does not hold now, and takes no group along, may hold when its turn comes.
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

    /// The results of each named record, with those of its group after it.
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
    /// - Throws: `forbidden` for a record that it may not give.
    fileprivate func judge(_ records: [IntakeRecord]) throws(CommandFailure) {
        for record in records {
            guard case .sample(let sample) = record.record, !mayWrite(sample.type, of: record.assignment.person) else {
                continue
            }
            throw CommandFailure(
                "forbidden",
                "type: \(instance) may not write \(sample.type.rawValue) of this person (hub permissions \(instance))")
        }
    }
}
