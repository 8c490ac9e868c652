import GRDB
import HubWire
import Samples

extension WriteTransaction {
    /// Carries out a manual change, charged to `IntakeCounts.hand`; returns a result per record, groups included.
    ///
    /// - Parameter changed: the results of records that must stay unchanged, by number.
    mutating func carryOut(
        _ action: ManualChange, leaving changed: [Int64: ManualResult] = [:]
    ) throws -> [ManualResult] {
        let results: [ManualResult]
        let left = Set(changed.keys)
        switch action {
        case .log(let records): return try log(records, WriteScope())
        case .edit(let number, let edit):
            results = try each([number], changed) { try $0.edit($1, edit) }
        case .editTogether(let edits):
            let byNumber = Dictionary(edits.map { ($0.number, $0.edit) }) { first, _ in first }
            let whole = edits.map(\.number).first { left.contains($0) }
            results = try each(whole.map { [$0] } ?? edits.map(\.number), changed) { transaction, number in
                guard let edit = byNumber[number] else { return transaction.unknown(number) }
                return try transaction.edit(number, edit)
            }
        case .undoEdit(let numbers):
            let all = try action.taken(with: numbers, but: left, in: db)
            results = try each(all, changed) { try $0.undoEdit($1) }
        case .retract(let numbers, let reason):
            let all = try action.taken(with: numbers, but: left, in: db)
            results = try each(all, changed) { try $0.retract($1, reason: reason) }
        case .undoRetraction(let numbers):
            let all = try action.taken(with: numbers, but: left, in: db)
            results = try each(all, changed) { try $0.undoRetraction($1) }
        case .assign(let numbers, let assignment, _, let reason):
            let all = try action.taken(with: numbers, but: left, in: db)
            results = try each(all, changed) { try $0.assign($1, to: assignment, reason: reason) }
        case .undoAssignment(let numbers, _):
            let all = try action.taken(with: numbers, but: left, in: db)
            results = try each(all, changed) { try $0.undoAssignment($1) }
        case .assignByRules(let records):
            results = try records.map { record in
                ManualResult(number: record.number, result: try assignByRule(record))
            }
        case .eraseNext: results = try RecordEraser.eraseNext(in: &self)
        case .thin(let day, let isCumulative):
            return try day.store(isCumulative: isCumulative, in: &self).map { [$0] } ?? []
        case .unlessChanged(let sequences, let change):
            // A record that the client may not see must not show its sequence number either.
            let others = sequences.filter { !left.contains($0.key) }
            return try carryOut(change, leaving: try changes(since: others).merging(changed) { $1 })
        case .within(let scope, .log(let records)): return try log(records, scope)
        case .within(let scope, let change):
            return try carryOut(change, leaving: try foreign(to: scope, change).merging(changed) { $1 })
        }
        var account = caches.account(of: IntakeCounts.hand)
        for result in results { account.count(result.result) }
        setAccount(account)
        return results
    }

    /// The named records outside a scope, and those whose change would include a record outside it.
    private func foreign(to scope: WriteScope, _ change: ManualChange) throws -> [Int64: ManualResult] {
        var foreign: [Int64: ManualResult] = [:]
        for number in Set(change.named) {
            for other in try change.taken(with: [number], in: db) {
                let sample = try find(SampleRow.byNumber, other)
                let day = try sample == nil ? findDay(DayRow.byNumber, other) : nil
                let isWithin =
                    sample.map { scope.allows($0.sample.type, of: $0.assignment) }
                    ?? day.map { scope.allows($0.day.type, of: .person($0.person)) } ?? true
                guard !isWithin else { continue }
                foreign[number] =
                    other == number
                    ? ManualResult(number: number, result: unknown(number))
                    : ManualResult(number: number, result: .rejected(WriteScope.refusalOfGroup))
                break
            }
        }
        return foreign
    }

    /// The records that are not at the requested sequence number, and the named records of their groups.
    ///
    /// The change itself reports missing records.
    private func changes(since asked: [Int64: Int64]) throws -> [Int64: ManualResult] {
        var changed: [Int64: ManualResult] = [:]
        for (number, asked) in asked where asked != 0 {
            let now = try find(SampleRow.byNumber, number)?.sequence ?? findDay(DayRow.byNumber, number)?.sequence
            guard let now, now != asked else { continue }
            changed[number] = .changed(number, "record \(number) is at version \(now) now, not at version \(asked)")
        }
        for number in changed.keys.sorted() {
            for other in try RecordGroup.withGroups([number], in: db)
            where asked[other] != nil && changed[other] == nil {
                changed[other] = .changed(other, "record \(number) of its group has changed meanwhile")
            }
        }
        return changed
    }

    private mutating func each(
        _ numbers: [Int64], _ changed: [Int64: ManualResult],
        _ body: (inout WriteTransaction, Int64) throws -> StoreResult
    ) throws -> [ManualResult] {
        guard numbers.count <= ManualChange.maximumRecords else {
            throw StoreError(.query, "at most \(ManualChange.maximumRecords) records at a time; name fewer")
        }
        var results: [ManualResult] = []
        for number in numbers {
            let isErased = try caches.tombstones.areThere && Tombstones.isErased(number, in: db)
            if !isErased, let result = changed[number] {
                results.append(result)
                continue
            }
            let result = isErased ? Tombstones.refusal(of: number) : try body(&self, number)
            results.append(ManualResult(number: number, result: result))
        }
        return results
    }

    // MARK: - New records

    private mutating func log(_ records: [IntakeRecord], _ scope: WriteScope) throws -> [ManualResult] {
        let items = records.map(IntakeItem.success)
        let results = try store(IntakeBatch(instance: IntakeCounts.hand, items: items, scope: scope))
        return try zip(records, results).map { record, result in
            switch result {
            case .stored(let placement):
                try note(.logged, placement, reason: nil)
                return ManualResult(number: placement.number, result: .stored(placement.showing(record)))
            case .duplicate(let number, _): return ManualResult(number: number, result: result)
            case .rejected: return ManualResult(number: 0, result: result)
            }
        }
    }

    // MARK: - Edits

    private mutating func edit(_ number: Int64, _ edit: SampleEdit) throws -> StoreResult {
        guard let known = try find(SampleRow.byNumber, number) else { return try noSample(number, "edit") }
        if known.retraction != nil {
            return .rejected(
                RecordRejection(
                    .init(received: "retracted"), "record \(number) was taken back; undo that before you edit it"))
        }
        if let rejection = edit.refusal(for: known.sample) { return .rejected(rejection) }
        var edit = edit
        if let name = known.profileOf { edit.metadata = edit.metadata.flatMap { BodyProfile.unmarked($0, of: name) } }
        let (sample, members) = edit.applied(to: known.sample, doubtful: known.implausible)
        guard !members.isEmpty else { return known.duplicate }
        var row = known
        row.sample = sample
        if members.contains(.value) { row.canonical = edit.canonical }
        row.edited.formUnion(members)
        row.implausible.subtract(members)
        return try done(.edited, known, row, reason: edit.reason)
    }

    private mutating func undoEdit(_ number: Int64) throws -> StoreResult {
        guard let known = try find(SampleRow.byNumber, number) else { return try noSample(number, "edit") }
        guard !known.edited.isEmpty else { return known.duplicate }
        var row = try sourceVersion(of: known)
        if let retraction = known.retraction { row.retraction = retraction }
        return try done(.editUndone, known, row, reason: nil)
    }

    // MARK: - Retractions

    private mutating func retract(_ number: Int64, reason: String?) throws -> StoreResult {
        if let known = try find(SampleRow.byNumber, number) {
            if known.retraction?.author == .person { return known.duplicate }
            var row = known
            row.retract(by: .person, reason: reason, version: nil)
            return try done(.retracted, known, row, reason: nil)
        }
        guard let day = try findDay(DayRow.byNumber, number) else { return unknown(number) }
        let result = try retract(day, .person, reason: reason, version: nil, source: nil)
        if case .stored(let placement) = result { try note(.retracted, placement, reason: nil) }
        return result
    }

    private mutating func undoRetraction(_ number: Int64) throws -> StoreResult {
        if let known = try find(SampleRow.byNumber, number) {
            guard let retraction = known.retraction else { return known.duplicate }
            guard retraction.author == .person else { return bySource(number) }
            var row = known.edited.isEmpty ? try sourceVersion(of: known) : known
            if !row.edited.isEmpty { row.retraction = nil }
            return try done(.retractionUndone, known, row, reason: nil)
        }
        guard let day = try findDay(DayRow.byNumber, number) else { return unknown(number) }
        guard let retraction = day.retraction else { return day.duplicate }
        guard retraction.author == .person else { return bySource(number) }
        let placement = try restore(day)
        try note(.retractionUndone, placement, reason: nil)
        return .stored(placement)
    }

    private func bySource(_ number: Int64) -> StoreResult {
        .rejected(
            RecordRejection(
                .init(received: "retracted"),
                "record \(number) was taken back by its source, which may send it again; no person retracted it"
            ))
    }

    // MARK: - Persons

    private mutating func assign(
        _ number: Int64, to assignment: Assignment, reason: String?
    ) throws -> StoreResult {
        guard let known = try find(SampleRow.byNumber, number) else { return try noSample(number, "assign") }
        if let person = assignment.person, caches.personID(person.uid) == nil {
            return .rejected(IntakeCheck.unknownPerson)
        }
        let person = personID(assignment)
        // A different reason for having no person is no change, except if the record becomes or ceases to be a guest's.
        if known.isAssignedByHand, known.personID == person, known.assignment.isGuest == assignment.isGuest {
            return known.duplicate
        }
        var row = known
        if !known.isAssignedByHand {
            row.profileOf = known.profileOf ?? BodyProfile.told(known.sample, known.assignment)
        }
        (row.assignment, row.personID, row.isAssignedByHand) = (assignment, person, true)
        return try done(.assigned, known, row, reason: reason)
    }

    /// Restores the assignment from before the first manual one.
    ///
    /// A record without a manual assignment is unchanged.
    private mutating func undoAssignment(_ number: Int64) throws -> StoreResult {
        guard let known = try find(SampleRow.byNumber, number) else { return try noSample(number, "assign") }
        guard known.isAssignedByHand else { return known.duplicate }
        var row = known
        let before = try find(SampleRow.lastByRule, number)
        row.assignment = try before?.assignment ?? assignmentByGroup(of: known)
        (row.personID, row.isAssignedByHand, row.profileOf) = (personID(row.assignment), false, before?.profileOf)
        let placement = try replace(known, with: row)
        try note(.assignmentUndone, placement, reason: nil)
        if let before { try repeatRuling(of: before.sequence, placement) }
        return .stored(placement)
    }

    /// The assignment for a record that arrived after a person assigned its group: the earlier assignment of the group's other records.
    private func assignmentByGroup(of known: SampleRow) throws -> Assignment {
        let others = try known.sample.group.map { try rows(of: $0, known.sample.source.plugin) } ?? []
        var found: [SampleRow] = []
        for other in others where other.number != known.number {
            if !other.isAssignedByHand {
                found.append(other)
            } else if let before = try find(SampleRow.lastByRule, other.number) {
                found.append(before)
            }
        }
        let telling = found.first { $0.sample.type == .weight } ?? found.first
        return telling?.assignment
            ?? .nobody(reason: "a person undid its assignment; the rules have not been applied since")
    }

    /// Assigns a record by the current rules, as if it arrived now.
    ///
    /// The rules never override a person's decision.
    private mutating func assignByRule(_ ruled: ManualChange.RuledRecord) throws -> StoreResult {
        guard let known = try find(SampleRow.byNumber, ruled.number) else {
            return try noSample(ruled.number, "assign")
        }
        guard known.personID == 0, !known.isAssignedByHand else { return known.duplicate }
        let judgement =
            try ruled.household.map { try judge(waiting: known, ruled, $0) }
            ?? AssignmentResult(assignment: ruled.assignment)
        let person = personID(judgement.assignment)
        guard person != 0 else { return known.duplicate }
        var row = known
        (row.assignment, row.personID) = (judgement.assignment, person)
        let result = try done(.assigned, known, row, reason: "by the rules of hub.conf")
        if case .stored(let placement) = result, let ruling = judgement.ruling { try note(ruling, placement) }
        return result
    }

    // MARK: - Common

    private mutating func done(
        _ deed: ManualChangeKind, _ known: SampleRow, _ row: SampleRow, reason: String?
    ) throws -> StoreResult {
        let placement = try replace(known, with: row)
        try note(deed, placement, reason: reason)
        return .stored(placement)
    }

    private func note(_ deed: ManualChangeKind, _ placement: Placement, reason: String?) throws {
        let insert = try RawStatement(
            cached: "INSERT INTO deed (seq, number, kind, reason) VALUES (?1, ?2, ?3, ?4)", in: db)
        insert.bind(1, placement.sequence)
        insert.bind(2, placement.number)
        insert.bind(3, deed.rawValue)
        insert.bind(4, reason)
        try insert.run()
    }

    func unknown(_ number: Int64) -> StoreResult {
        .rejected(RecordRejection(.unknown, "no record has the number \(number)"))
    }

    private func noSample(_ number: Int64, _ verb: String) throws -> StoreResult {
        guard try findDay(DayRow.byNumber, number) != nil else { return unknown(number) }
        return .rejected(
            RecordRejection(
                .kind, "record \(number) is a day, computed from samples; \(verb) those, and the day follows"))
    }
}
