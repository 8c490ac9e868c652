import JSON
import PluginKit

/// What of the hub's answers a viewer reads: the owner all of it, as the hub printed it; who sees one person not what names others.
extension Viewer {
    /// A record of theirs.
    func cut(_ record: ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
        try person.map { try RecordCut(person: $0).record(record) } ?? record
    }

    /// The same, as it was decoded.
    func cut(_ record: StoredRecord) throws -> StoredRecord {
        guard person != nil, case .sample(var sample) = record.record, let metadata = sample.metadata else {
            return record
        }
        guard let tree = JSONTree(Array(metadata.text.utf8)) else { throw RecordEvent.Unreadable() }
        let cut = RecordCut.withoutProfile(tree)
        guard cut != tree else { return record }
        sample.metadata = cut.members?.isEmpty == true ? nil : JSONObject(String(decoding: cut.bytes, as: UTF8.self))
        var record = record
        record.record = .sample(sample)
        return record
    }

    /// A page of a record's story.
    func cut(story: RawJSON) throws -> RawJSON { try person.map { try RecordCut(person: $0).story(story) } ?? story }
}

/// Takes from the records of a person, and from their stories, what only the owner reads, for it may be about others: why someone took a record
/// back or edited it, whom a device took the person for, the versions and days of others, and what sinks have said.
struct RecordCut {
    let person: String

    func record(_ bytes: ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
        guard let tree = JSONTree(Array(bytes)) else { throw RecordEvent.Unreadable() }
        let cut = record(tree)
        return cut == tree ? bytes : cut.bytes[...]
    }

    private func record(_ tree: JSONTree) -> JSONTree {
        // Of what a source took back the reason is the source's, and of what has left a question the hub's.
        let isByHand = tree["kind"]?.text == "retraction" && tree["by"]?.text == "person"
        return .object(
            (tree.members ?? []).compactMap { member in
                switch member.name {
                case "reason" where isByHand: nil
                case "subject" where isOther(member.value): nil
                case "metadata": .init(member.name, Self.withoutProfile(member.value))
                default: member
                }
            })
    }

    /// Whether a device took them for someone else.
    private func isOther(_ subject: JSONTree) -> Bool {
        subject["account"] != nil || subject["name"].map { $0.text != person } ?? false
    }

    /// Metadata without the name of the person for whom a device computed a value.
    static func withoutProfile(_ metadata: JSONTree) -> JSONTree { without(["profileOf"], metadata) }

    private static func without(_ names: Set<String>, _ tree: JSONTree) -> JSONTree {
        .object((tree.members ?? []).filter { !names.contains($0.name) })
    }

    /// - Throws: `RecordEvent.Unreadable` for what is no story.
    func story(_ answer: RawJSON) throws -> RawJSON {
        guard let members = JSONTree(answer.bytes)?.members else { throw RecordEvent.Unreadable() }
        let cut = members.compactMap { member -> JSONTree.Member? in
            switch member.name {
            case "versions": .init(member.name, .list((member.value.list ?? []).compactMap(version)))
            case "deliveries": .init(member.name, deliveries(member.value))
            case "days": .init(member.name, .list((member.value.list ?? []).compactMap(day)))
            case "retracted": isOwn(member.value) ? .init(member.name, record(member.value)) : nil
            default: member
            }
        }
        return RawJSON(trusted: JSONTree.object(cut).bytes)
    }

    private func isOwn(_ record: JSONTree) -> Bool { record["person"]?.text == person }

    private func version(_ version: JSONTree) -> JSONTree? {
        guard let stored = version["record"], isOwn(stored) else { return nil }
        let cut = Self.without(["reason", "ruling"], version)
        return .object((cut.members ?? []).map { $0.name == "record" ? .init($0.name, record(stored)) : $0 })
    }

    private func day(_ day: JSONTree) -> JSONTree? {
        guard let stored = day["record"], isOwn(stored) else { return nil }
        return .object(
            (day.members ?? []).map { $0.name == "deliveries" ? .init($0.name, deliveries($0.value)) : $0 })
    }

    private func deliveries(_ list: JSONTree) -> JSONTree {
        .list((list.list ?? []).map { Self.without(["reason", "attempts", "due", "confirmed"], $0) })
    }
}
