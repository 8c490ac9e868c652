import HubStore
import HubWire
import Samples

extension OwnCommands.Assign: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> Result {
        if rules {
            guard numbers == nil, to == nil, !nobody, !guest, !undo, !alone, reason == nil, seqs == nil, of == nil
            else {
                throw OwnCommandFailure(problems: ["rules: cannot be combined with other arguments"])
            }
            try call.scope?.requireAllRecords(for: "rules")
            return .other(try await applyRules(call, hub))
        }
        guard let numbers, !numbers.isEmpty, numbers.count <= OwnCommands.mostNumbers else {
            throw OwnCommandFailure(problems: ["numbers: expected 1 to \(OwnCommands.mostNumbers) record numbers"])
        }
        guard [to != nil, nobody, guest, undo].count(where: { $0 }) == 1 else {
            throw OwnCommandFailure(problems: ["to: expected a person, or one of nobody, guest and undo"])
        }
        guard !undo || reason == nil else { throw OwnCommandFailure(problems: ["reason: undo takes none"]) }
        // A plugin that may not read records without a person could not see the result.
        if to == nil, call.scope?.persons != nil {
            try call.scope?.requireAllRecords(for: nobody ? "nobody" : guest ? "guest" : "undo")
        }
        let action: ManualChange =
            undo
            ? .undoAssignment(numbers: numbers, wholeGroups: !alone)
            : .assign(
                numbers: numbers, to: try assignment(hub.facts, call.scope), wholeGroups: !alone, reason: reason)
        let change = action.expecting(try ManualChange.sequences(seqs, of: numbers))
        let results = try await hub.carryOut(try change.concerning(of, hub.facts, call.scope), call)
        return .records(try await hub.report(results, call))
    }

    private func assignment(_ facts: HubContext, _ scope: CommandScope?) throws(OwnCommandFailure) -> Assignment {
        guard let to else { return guest ? .guest : .nobody(reason: reason ?? "put back into the inbox by hand") }
        return .person(try facts.person(to, in: "to", allowed: scope?.persons))
    }

    /// Applies the rules to everything in the inbox, page by page.
    @DoorActor private func applyRules(_ call: OwnCommandCall, _ hub: Commands) async throws -> RuleReport {
        var report = RuleReport(dryRun: call.isDryRun)
        var query = RecordQuery()
        (query.persons, query.isGuest) = ([.nobody], false)
        query.kinds = KindSelection(nil, followsChanges: false)
        let total = try await hub.store.inboxCount()
        var done: Int64 = 0
        while true {
            try Task.checkCancellation()
            let page = try await hub.store.page(query)
            let ruled = page.records.map { record in
                let finding = hub.facts.finding(of: record)
                return ManualChange.RuledRecord(
                    number: record.number, assignment: finding.assignment, household: finding.household)
            }
            let results = try await hub.carryOut(.assignByRules(ruled), isDryRun: call.isDryRun)
            for ((record, rule), result) in zip(zip(page.records, ruled), results) {
                if case .stored(let placement) = result.result, let person = placement.record?.assignment.person {
                    report.assigned[person.name, default: 0] += 1
                } else {
                    report.left[Self.why(record, rule), default: 0] += 1
                }
            }
            done += Int64(page.records.count)
            call.progress(done, of: total)
            guard let next = page.next else { return report }
            query.next = next
        }
    }

    private static func why(_ record: StoredRecord, _ rule: ManualChange.RuledRecord) -> String {
        // If the slot has an owner, the record's own reason is more specific: a person put it there, or its weight excludes the owner.
        if let household = rule.household, household.owner == nil, !household.members.isEmpty {
            return "neither their source nor their weight is clear enough"
        }
        return switch (rule.assignment, record.assignment) {
        case (.nobody(let reason), _): reason
        case (.person, .nobody(let reason)): reason  // A person put it there: rules do not override that.
        case (.person, .person): "it has a person already"
        }
    }
}

extension HubContext {
    /// The result of the rules for a stored record if it came in now; unknown if several instances of its plugin disagree.
    func finding(of stored: StoredRecord) -> PersonRules.Finding {
        let unknown = PersonRules.Finding(assignment: stored.assignment)
        guard case .sample(let sample) = stored.record else { return unknown }
        let kind = sample.source.plugin
        let named = instances.filter { ($0.value.plugin ?? $0.key) == kind }.sorted { $0.key < $1.key }
        let candidates = named.isEmpty ? [(kind, strangers.persons)] : named.map { ($0.key, $0.value.persons) }
        let verdicts = candidates.map { instance, persons in
            rules.finding(of: sample.subject, instance: instance, allowed: persons)
        }
        guard let first = verdicts.first else { return unknown }
        if verdicts.allSatisfy({
            $0.assignment.person == first.assignment.person && $0.household == first.household
        }) {
            return first
        }
        let names = candidates.map(\.0).joined(separator: ", ")
        return PersonRules.Finding(
            assignment: .nobody(
                reason: "hub.conf has several instances of \(kind) (\(names)), and their rules disagree"))
    }
}
