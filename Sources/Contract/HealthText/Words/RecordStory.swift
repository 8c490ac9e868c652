import Foundation
package import HubWire
package import Samples

/// One page of a record's history, from the hub's answer to `trace`.
package struct RecordStory: Sendable {
    package struct Version: Sendable {
        package let record: StoredRecord
        /// RFC 3339; `nil` if the hub does not send it.
        package let recordedAt: String?
        /// The action of a person or rule that made it and the reason, or a note that a person's action hides it; often empty.
        package let how: String
    }

    /// A day that was computed from the record, and its deliveries.
    package struct Day: Sendable {
        package let number: Int64
        package let value: DayValue
        package let deliveries: [Delivery]
    }

    /// The state of a record at a sink.
    package struct Delivery: Decodable, Sendable {
        package struct Confirmed: Decodable, Sendable {
            package var seq: Int64
            package var at, receipt: String?
        }
        package var sink, state: String
        /// The version that `state` refers to.
        package var seq: Int64
        package var at, reason, due: String?
        package var attempts: Int64?
        /// The last confirmation of the sink, for this version or an older one.
        package var confirmed: Confirmed?
    }

    /// Oldest first.
    package let versions: [Version]
    /// The version in force; `nil` if this page does not have it.
    package let current: StoredRecord?
    /// The retracted record.
    package let retracted: StoredRecord?
    package let topic: String?
    /// The number of messages that its topic has; `topicHead` is the newest.
    package let topicCount: Int?
    package let topicHead: String?
    /// The number of versions on all pages.
    package let versionCount: Int
    package let deliveries: [Delivery]
    package let days: [Day]
    /// The cursor of the next page.
    package let next: String?

    /// - Throws: an error if the hub's answer is not a history, or contains a record that this program cannot read.
    package init(_ answer: RawJSON) throws(UnreadableResult) {
        let members = RawMembers.members(of: answer.bytes[...])
        var decoder = StoredRecordDecoder()
        let seq = Self.text(members["seq"])
        var (versions, current) = ([Version](), StoredRecord?.none)
        for version in RawMembers.elements(of: members["versions"] ?? []) {
            let parts = RawMembers.members(of: version)
            let record = try Self.record(parts["record"] ?? [], &decoder)
            versions.append(
                Version(record: record, recordedAt: Self.text(parts["recordedAt"]), how: StoryWords.how(parts)))
            // A version that a source sent below a person's edit comes later and is not shown.
            if seq == nil || seq == String(record.sequence) { current = record }
        }
        (self.versions, self.current) = (versions, current)
        retracted = if let taken = members["retracted"] { try Self.record(taken, &decoder) } else { nil }
        topic = Self.text(members["topic"])
        topicHead = Self.text(members["topicHead"])
        topicCount = Self.text(members["topicCount"]).flatMap { Int($0) }
        versionCount = Self.text(members["versionCount"]).flatMap { Int($0) } ?? versions.count
        deliveries = try Self.deliveries(members["deliveries"])
        var days: [Day] = []
        for entry in RawMembers.elements(of: members["days"] ?? []) {
            let parts = RawMembers.members(of: entry)
            let stored = try Self.record(parts["record"] ?? [], &decoder)
            guard case .day(let value) = stored.record else { continue }
            days.append(Day(number: stored.number, value: value, deliveries: try Self.deliveries(parts["deliveries"])))
        }
        self.days = days
        next = members["next"].flatMap { RawJSON(trusted: Array($0)).textValue }
    }

    private static func record(
        _ bytes: ArraySlice<UInt8>, _ decoder: inout StoredRecordDecoder
    ) throws(UnreadableResult) -> StoredRecord {
        do {
            return try bytes.withUnsafeBytes { try decoder.record($0) }
        } catch {
            let reason = (error as? RecordRejection)?.reason ?? "\(error)"
            throw UnreadableResult(description: "the hub sent a record that this program cannot read: \(reason)")
        }
    }

    private static func deliveries(_ bytes: ArraySlice<UInt8>?) throws(UnreadableResult) -> [Delivery] {
        guard let bytes else { return [] }
        do { return try JSONDecoder().decode([Delivery].self, from: Data(bytes)) } catch {
            throw UnreadableResult(description: "the hub's answer is of another version than this program: \(error)")
        }
    }

    /// The text of a string or number.
    static func text(_ value: ArraySlice<UInt8>?) -> String? {
        guard let value else { return nil }
        let text = String(decoding: value, as: UTF8.self)
        return text.hasPrefix("\"") ? String(text.dropFirst().dropLast()) : text
    }
}
