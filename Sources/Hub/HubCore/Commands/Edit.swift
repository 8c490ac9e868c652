import FoundationEssentials
import HubStore
import HubWire
import Samples

extension OwnCommands.Edit: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> ManualAnswer {
        let isEmpty =
            value == nil && unit == nil && name == nil && values == nil && start == nil && end == nil && note == nil
        guard undo == isEmpty, !undo || reason == nil else {
            throw OwnCommandFailure(
                problems: [
                    undo
                        ? "undo: can be combined only with number, seq and seqs"
                        : "expected value, name, start, end or note, or undo"
                ])
        }
        let action: ManualChange
        if undo {
            action = .undoEdit(numbers: [number])
        } else {
            // Otherwise the reason of a refusal would describe another person's record.
            guard let stored = try await hub.records([number], call.scope)[number],
                of.map({ stored.assignment.person?.name == $0 }) ?? true
            else {
                return try await hub.report(
                    [
                        ManualResult(
                            number: number,
                            result: .rejected(
                                RecordRejection(.unknown, "no record has the number \(number)")))
                    ], call)
            }
            action = try await change(of: stored, hub)
        }
        let change = action.expecting(try await sequences(call, hub))
        let results = try await hub.carryOut(try change.concerning(of, hub.facts, call.scope), call)
        return try await hub.report(results, call)
    }

    /// The expected versions: of the record and, if given, of its members.
    @DoorActor private func sequences(_ call: OwnCommandCall, _ hub: Commands) async throws -> [Int64: Int64]? {
        let own = seq.map { [number: $0] }
        guard let seqs else { return own }
        var others: [Int64] = []
        if case .sample(let whole)? = try await hub.records([number], call.scope)[number]?.record,
            whole.value.kind == .correlation || whole.value.kind == .workout
        {
            others = try await members(of: whole, hub.store).map(\.number).filter { $0 != number }.sorted()
        }
        return try ManualChange.sequences(seqs, of: others, "its members")?.merging(own ?? [number: 0]) { $1 }
    }

    /// The edit, and the edits of those members that have the same times as their correlation or workout.
    @DoorActor private func change(of stored: StoredRecord, _ hub: Commands) async throws -> ManualChange {
        let registry = hub.knownTypes
        guard case .sample(let whole) = stored.record, whole.value.kind == .correlation || whole.value.kind == .workout
        else {
            guard values == nil else { throw OwnCommandFailure(problems: ["values: only a correlation has several"]) }
            return .edit(number: number, try edit(of: stored, registry))
        }
        let required = registry.type(whole.type)?.requiredMembers ?? []
        guard values == nil || values?.count == required.count && !required.isEmpty else {
            throw OwnCommandFailure(problems: [
                required.isEmpty
                    ? "values: the members of this record are edited by their own numbers"
                    : "values: expected one for each of \(required.map(\.rawValue).joined(separator: ", "))"
            ])
        }
        var own = self
        if values != nil { own.unit = nil }
        var edits = [ManualChange.NumberedEdit(number: number, edit: try own.edit(of: stored, registry))]
        for member in try await members(of: whole, hub.store) where member.number != number {
            guard case .sample(let sample) = member.record else { continue }
            var part = Self(number: member.number, reason: reason)
            if (sample.start, sample.end) == (whole.start, whole.end) { (part.start, part.end) = (start, end) }
            if let place = required.firstIndex(of: sample.type), let values {
                (part.value, part.unit) = (values[place], unit)
            }
            guard part.start != nil || part.end != nil || part.value != nil else { continue }
            edits.append(ManualChange.NumberedEdit(number: member.number, edit: try part.edit(of: member, registry)))
        }
        return .editTogether(edits)
    }

    /// The records that came in one group with a sample, from plugins of its kind.
    private func members(of whole: Sample, _ store: Store) async throws -> [StoredRecord] {
        guard let group = whole.group else { return [] }
        var query = RecordQuery()
        (query.group, query.sources) = (group, [whole.source.plugin])
        query.kinds = KindSelection(nil, followsChanges: false)
        var found: [StoredRecord] = []
        while true {
            let page = try await store.page(query)
            found += page.records
            guard let next = page.next else { return found }
            query.next = next
        }
    }

    private func edit(of stored: StoredRecord, _ registry: TypeRegistry) throws -> SampleEdit {
        var edit = SampleEdit(type: stored.type)
        edit.reason = reason
        // If the record is not a sample now, the store rejects the edit with a reason.
        guard case .sample(let sample) = stored.record else { return edit }
        if value != nil || name != nil || unit != nil {
            var record = ManualRecord(
                type: sample.type.rawValue, kind: sample.value.kind, start: sample.start.text, key: "edit")
            try record.take(value: value, unit: unit, name: name)
            let (checked, canonical) = try record.checked(registry, isPart: true)
            (edit.value, edit.canonical) = (checked.value, canonical)
        }
        edit.start = try start.map { try time($0, "start") }
        edit.end = try end.map { try time($0, "end") }
        edit.metadata = try note.map { try JSONObject.noted($0, in: sample.metadata) }
        return edit
    }

    private func time(_ text: String, _ name: String) throws -> Timestamp {
        do throws(Timestamp.ParseError) { return try Timestamp(parsing: text) } catch {
            throw OwnCommandFailure("time", "\(name): \(error)")
        }
    }
}
