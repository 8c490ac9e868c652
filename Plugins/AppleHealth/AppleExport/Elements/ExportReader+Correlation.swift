import HubWire
import JSON
import Samples

/// Reads `Correlation`: a blood pressure or a food, with its member records.
extension ExportReader {
    /// More members than any meal has.
    ///
    /// If the end of a correlation is missing, the records after it are not its members.
    private static let maximumMembers = 200

    func readCorrelation() throws(ExportError) {
        readAttributes()
        let outer = draft
        var (own, members): (ElementDraft, [FinishedRecord]) = (outer, [])
        // Member records may come before or after the metadata, and each of them reuses the draft.
        let wanted = outer.type?.isWanted ?? false
        isWithinWanted = true
        let filteredBefore = account.filtered
        var memberTypesWanted = false
        let isWhole = try readChildren(recordsBelong: true) { (reader) throws(ExportError) in
            if reader.tokenizer.isNamed("MetadataEntry") {
                swap(&reader.draft, &own)
                defer { swap(&reader.draft, &own) }
                try reader.readMetadata()
            } else if reader.tokenizer.isNamed("Record") {
                reader.account.nestedRecords += 1
                guard members.count < Self.maximumMembers else {
                    reader.isWithinWanted = false
                    return try reader.readRecord()
                }
                if let member = try reader.readMember() {
                    memberTypesWanted = memberTypesWanted || member.type.isWanted
                    members.append(member)
                }
            } else {
                swap(&reader.draft, &own)
                defer { swap(&reader.draft, &own) }
                try reader.keepUnknown()
            }
        }
        isWithinWanted = false
        // The last element of a truncated file is incomplete, and the missing content is unknown.
        guard isWhole else { return giveAlone(members) }
        guard wanted || memberTypesWanted else {
            account.filtered = filteredBefore + members.count + 1
            return
        }
        draft = own
        give(members)
    }

    /// Reads a record within another element, using the draft; the token is its start.
    func readMember() throws(ExportError) -> FinishedRecord? {
        readAttributes()
        let isWhole = try readChildren { (reader) throws(ExportError) in
            if reader.tokenizer.isNamed("MetadataEntry") {
                try reader.readMetadata()
            } else {
                try reader.keepUnknown()
            }
        }
        return isWhole ? finish() : nil
    }

    /// Emits the correlation of the draft and its members as one group; emits only the members if the hub would reject the correlation.
    private func give(_ all: [FinishedRecord]) {
        var (members, seen): ([FinishedRecord], Set<UInt64>) = ([], [])
        for member in all where seen.insert(member.mark).inserted { members.append(member) }
        guard let type = draft.type, let start = draft.start else {
            if draft.type == nil {
                account.note(.missingAttribute, place(reason: "Correlation without type"))
            } else {
                noteTimeless("Correlation")
            }
            return giveAlone(members)
        }
        let source = draft.source ?? noSource
        guard source.isWanted, options.filter.takes(start.seconds, max(start, draft.end ?? start).seconds) else {
            account.filtered += members.count + 1
            return
        }
        guard hasGoodEnd else {
            if let made = finish(element: "Correlation") { give(made) }
            return giveAlone(members)
        }
        noteUnlikely(start, draft.end ?? start)
        // The members are part of the identity, because two meals may have the same minute.
        let isTaken = type.kind == .correlation && takes(type, members.map(\.type))
        if !isTaken { account.note(.brokenCorrelation, place()) }
        output.removeAll(keepingCapacity: true)
        beginKey(type, source, start, draft.end ?? start)
        if !hasOwnIdentity { for mark in members.map(\.mark).sorted() { keys.add(Int64(bitPattern: mark)) } }
        let entry = isTaken ? type : elementType
        output += entry.head
        if !isTaken {
            output.append(literal: #","value":"Correlation""#)
            _ = draft.add("attributes", json: Self.object([("type", type.id.rawValue)]))
        }
        append(start, draft.end ?? start)
        let (keyStart, keyEnd, mark) = appendKey(source, start)
        appendMetadata(source)
        let correlation = FinishedRecord(
            type: entry, kind: ExportBatch.Mark(type: entry.index, source: source.index),
            start: start.seconds, end: (draft.end ?? start).seconds, bytes: Array(output), keyStart: keyStart,
            keyEnd: keyEnd, mark: mark)
        guard isTaken else {
            give(correlation)
            return giveAlone(members)
        }
        let group = Array(correlation.key)
        var records = [correlation.record(in: group)]
        var kinds = [correlation.kind]
        tally(correlation.kind.type, correlation.kind.source, start.seconds, correlation.end)
        for member in members {
            records.append(member.record(in: group, occurrence: claim(member, by: mark)))
            kinds.append(member.kind)
            tally(member.kind.type, member.kind.source, member.start, member.end)
        }
        guard !isSilent else { return }
        batch.groups.append(group: records)
        batch.marks += kinds
    }

    /// Whether the hub accepts these members for the correlation, each once.
    private func takes(_ type: TypeEntry, _ members: [TypeEntry]) -> Bool {
        guard type.required.allSatisfy({ draft.names.contains($0) }), let health = type.health else { return false }
        let ids = members.map(\.id)
        if !health.requiredMembers.isEmpty { return ids.sorted() == health.requiredMembers.sorted() }
        return !members.isEmpty && members.allSatisfy { $0.isEaten && $0.health?.kind == .quantity }
    }

    /// The occurrence number of a member's identity: 1 unless another correlation has already taken it.
    func claim(_ member: FinishedRecord, by owner: UInt64) -> Int {
        var occurrence = 1
        while !members.claim(member.mark &+ UInt64(occurrence - 1), by: owner), occurrence < 100 { occurrence += 1 }
        return occurrence
    }

    /// Emits records that occur within another element without it.
    func giveAlone(_ members: [FinishedRecord]) {
        for member in members { giveMember(member, in: nil, owner: member.mark) }
    }

    /// Emits a record that occurs within another element, with or without a group.
    func giveMember(_ member: FinishedRecord, in group: [UInt8]?, owner: UInt64) {
        let occurrence = member.type.isMember ? claim(member, by: owner) : 1
        tally(member.kind.type, member.kind.source, member.start, member.end)
        guard !isSilent else { return }
        batch.append(member.record(in: group, occurrence: occurrence), member.kind)
    }
}
