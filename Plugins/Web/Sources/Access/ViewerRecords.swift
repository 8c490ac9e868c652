import JSON
import PluginKit

/// What of the hub's answers a viewer reads: the owner all of it, as the hub printed it; who sees one person not what is written about that
/// person's records, for it may be about others.
extension Viewer {
    /// A record without the reason for which a person took it back.
    func cut(_ record: ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
        readsReasons ? record : try RecordCut.record(record)
    }

    /// A page of a record's story: of the versions and days those that are their own, and where it went.
    func cut(story: RawJSON) throws -> RawJSON {
        guard let person else { return story }
        return try RecordCut(person: person).story(story)
    }
}

/// Takes away what only the owner reads.
struct RecordCut {
    let person: String

    static func record(_ bytes: ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
        guard let tree = JSONTree(Array(bytes)) else { throw RecordEvent.Unreadable() }
        return hasWords(tree) ? record(tree).bytes[...] : bytes
    }

    /// Of what a source took back the reason is the source's, and of what has left a question the hub's.
    private static func hasWords(_ tree: JSONTree) -> Bool {
        tree["kind"]?.text == "retraction" && tree["by"]?.text == "person" && tree["reason"] != nil
    }

    private static func record(_ tree: JSONTree) -> JSONTree { hasWords(tree) ? without(["reason"], tree) : tree }

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
            case "retracted": isOwn(member.value) ? .init(member.name, Self.record(member.value)) : nil
            default: member
            }
        }
        return RawJSON(trusted: JSONTree.object(cut).bytes)
    }

    private func isOwn(_ record: JSONTree) -> Bool { record["person"]?.text == person }

    private func version(_ version: JSONTree) -> JSONTree? {
        guard let record = version["record"], isOwn(record) else { return nil }
        return Self.with(Self.record(record), in: Self.without(["reason", "ruling"], version))
    }

    private func day(_ day: JSONTree) -> JSONTree? {
        guard let record = day["record"], isOwn(record) else { return nil }
        return .object(
            (day.members ?? []).map { $0.name == "deliveries" ? .init($0.name, deliveries($0.value)) : $0 })
    }

    /// What a sink has said may name others.
    private func deliveries(_ list: JSONTree) -> JSONTree {
        .list((list.list ?? []).map { Self.without(["reason", "attempts", "due", "confirmed"], $0) })
    }

    private static func with(_ record: JSONTree, in version: JSONTree) -> JSONTree {
        .object((version.members ?? []).map { $0.name == "record" ? .init("record", record) : $0 })
    }
}
