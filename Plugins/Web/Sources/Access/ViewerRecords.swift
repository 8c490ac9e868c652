import JSON
import PluginKit

/// Limits the hub's answers: the owner reads all as the hub printed it; a viewer of one person reads nothing about others.
extension Viewer {
    /// Limits a record.
    func cut(_ record: ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
        try person.map { try RecordRedaction(person: $0).record(record) } ?? record
    }

    /// Limits a decoded record.
    func cut(_ record: StoredRecord) throws -> StoredRecord {
        guard person != nil, case .sample(var sample) = record.record, let metadata = sample.metadata else {
            return record
        }
        guard let tree = JSONTree(Array(metadata.text.utf8)) else { throw RecordEvent.EventError() }
        let cut = RecordRedaction.withoutProfile(tree)
        guard cut != tree else { return record }
        sample.metadata = cut.members?.isEmpty == true ? nil : JSONObject(String(decoding: cut.bytes, as: UTF8.self))
        var record = record
        record.record = .sample(sample)
        return record
    }

    /// Limits a page of a record's story.
    func cut(story: RawJSON) throws -> RawJSON {
        try person.map { try RecordRedaction(person: $0).story(story) } ?? story
    }
}

/// Removes what only the owner may read from records and stories, because it may concern others: reasons of deletions and edits,
/// the person whom a device assumed, versions and days of others, and messages of sinks.
struct RecordRedaction {
    let person: String

    func record(_ bytes: ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
        guard let tree = JSONTree(Array(bytes)) else { throw RecordEvent.EventError() }
        let cut = record(tree)
        return cut == tree ? bytes : cut.bytes[...]
    }

    private func record(_ tree: JSONTree) -> JSONTree {
        // Keep a source's reason for its retraction, and the hub's reason for a record that left a query.
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

    /// Whether a device assumed another person.
    private func isOther(_ subject: JSONTree) -> Bool {
        subject["account"] != nil || subject["name"].map { $0.text != person } ?? false
    }

    /// Metadata without the name of a person whose profile a device used to compute a value.
    static func withoutProfile(_ metadata: JSONTree) -> JSONTree { without(["profileOf"], metadata) }

    private static func without(_ names: Set<String>, _ tree: JSONTree) -> JSONTree {
        .object((tree.members ?? []).filter { !names.contains($0.name) })
    }

    /// - Throws: `RecordEvent.EventError` if the answer is not a story.
    func story(_ answer: RawJSON) throws -> RawJSON {
        guard let members = JSONTree(answer.bytes)?.members else { throw RecordEvent.EventError() }
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
        return .object((day.members ?? []).map { $0.name == "deliveries" ? .init($0.name, deliveries($0.value)) : $0 })
    }

    private func deliveries(_ list: JSONTree) -> JSONTree {
        .list((list.list ?? []).map { Self.without(["reason", "attempts", "due", "confirmed"], $0) })
    }
}
