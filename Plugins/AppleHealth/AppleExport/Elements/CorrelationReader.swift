import HubWire
import JSON
import Samples

/// Reads `Correlation`: a blood pressure or a food, with its member records.
struct CorrelationReader {
    let reader: ExportReader

    /// More members than any meal has.
    ///
    /// If the end of a correlation is missing, the records after it are not its members.
    private static let maximumMembers = 200

    func read() throws(ExportError) {
        reader.readAttributes()
        let outer = reader.draft
        var (own, members): (ElementDraft, [FinishedRecord]) = (outer, [])
        // Member records may come before or after the metadata, and each of them reuses the draft.
        let wanted = outer.type?.isWanted ?? false
        reader.isWithinWanted = true
        let filteredBefore = reader.account.filtered
        var memberTypesWanted = false
        let isWhole = try reader.readChildren(recordsBelong: true) { (reader) throws(ExportError) in
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
        reader.isWithinWanted = false
        // The last element of a truncated file is incomplete, and the missing content is unknown.
        guard isWhole else { return reader.giveAlone(members) }
        guard wanted || memberTypesWanted else {
            reader.account.filtered = filteredBefore + members.count + 1
            return
        }
        reader.draft = own
        give(members)
    }

    /// Emits the correlation of the draft and its members as one group; emits only the members if the hub would reject the correlation.
    private func give(_ all: [FinishedRecord]) {
        var (members, seen): ([FinishedRecord], Set<UInt64>) = ([], [])
        for member in all where seen.insert(member.mark).inserted { members.append(member) }
        guard let type = reader.draft.type, let start = reader.draft.start else {
            if reader.draft.type == nil {
                reader.account.note(.missingAttribute, reader.place(reason: "Correlation without type"))
            } else {
                reader.noteTimeless("Correlation")
            }
            return reader.giveAlone(members)
        }
        let source = reader.draft.source ?? reader.noSource
        guard source.isWanted, reader.options.filter.takes(start.seconds, max(start, reader.draft.end ?? start).seconds)
        else {
            reader.account.filtered += members.count + 1
            return
        }
        guard reader.hasGoodEnd else {
            if let made = reader.finish(element: "Correlation") { reader.give(made) }
            return reader.giveAlone(members)
        }
        reader.noteUnlikely(start, reader.draft.end ?? start)
        // The members are part of the identity, because two meals may have the same minute.
        let isTaken = type.kind == .correlation && takes(type, members.map(\.type))
        if !isTaken { reader.account.note(.brokenCorrelation, reader.place()) }
        reader.output.removeAll(keepingCapacity: true)
        reader.beginKey(type, source, start, reader.draft.end ?? start)
        if !reader.hasOwnIdentity {
            for mark in members.map(\.mark).sorted() { reader.keys.add(Int64(bitPattern: mark)) }
        }
        let entry = isTaken ? type : reader.elementType
        reader.output += entry.head
        if !isTaken {
            reader.output.append(literal: #","value":"Correlation""#)
            _ = reader.draft.add("attributes", json: ExportReader.object([("type", type.id.rawValue)]))
        }
        reader.append(start, reader.draft.end ?? start)
        let (keyStart, keyEnd, mark) = reader.appendKey(source, start)
        reader.appendMetadata(source)
        let correlation = FinishedRecord(
            type: entry, kind: ExportBatch.Mark(type: entry.index, source: source.index),
            start: start.seconds, end: (reader.draft.end ?? start).seconds, bytes: Array(reader.output),
            keyStart: keyStart,
            keyEnd: keyEnd, mark: mark)
        guard isTaken else {
            reader.give(correlation)
            return reader.giveAlone(members)
        }
        let group = Array(correlation.key)
        var records = [correlation.record(in: group)]
        var kinds = [correlation.kind]
        reader.tally(correlation.kind.type, correlation.kind.source, start.seconds, correlation.end)
        for member in members {
            records.append(member.record(in: group, occurrence: reader.claim(member, by: mark)))
            kinds.append(member.kind)
            reader.tally(member.kind.type, member.kind.source, member.start, member.end)
        }
        guard !reader.isSilent else { return }
        reader.batch.groups.append(group: records)
        reader.batch.marks += kinds
    }

    /// Whether the hub accepts these members for the correlation, each once.
    private func takes(_ type: TypeEntry, _ members: [TypeEntry]) -> Bool {
        guard type.required.allSatisfy({ reader.draft.names.contains($0) }), let health = type.health else {
            return false
        }
        let ids = members.map(\.id)
        if !health.requiredMembers.isEmpty { return ids.sorted() == health.requiredMembers.sorted() }
        return !members.isEmpty && members.allSatisfy { $0.isEaten && $0.health?.kind == .quantity }
    }
}
