import Foundation
package import HubWire
package import Samples

/// A page of the story of a record, as the hub answers `trace`.
package struct RecordStory: Sendable {
    /// What the hub sent is not a story, or has a record that this program cannot read; in words.
    package struct Unreadable: Error {
        package let reason: String
    }

    package struct Version: Sendable {
        package let record: StoredRecord
        /// RFC 3339; `nil` where the hub does not say.
        package let recordedAt: String?
        /// What a person or a rule did to make it, and why; or that it was not shown.
        ///
        /// Often nothing.
        package let how: String
    }

    /// A day that is made of the record, and where it went.
    package struct Day: Sendable {
        package let number: Int64
        package let value: DayValue
        package let deliveries: [Delivery]
    }

    /// What became of a record at a sink.
    package struct Delivery: Decodable, Sendable {
        package struct Confirmed: Decodable, Sendable {
            package var seq: Int64
            package var at, receipt: String?
        }
        package var sink, state: String
        /// The version that `state` is of.
        package var seq: Int64
        package var at, reason, due: String?
        package var attempts: Int64?
        /// What the sink confirmed last, of this version or an older one.
        package var confirmed: Confirmed?
    }

    /// Oldest first.
    package let versions: [Version]
    /// The one that counts; `nil` where this page does not have it.
    package let current: StoredRecord?
    /// What was taken back.
    package let retracted: StoredRecord?
    package let topic: String?
    /// How many messages its topic has, and the newest.
    package let topicCount: Int?
    package let topicHead: String?
    /// Of all pages.
    package let versionCount: Int
    package let deliveries: [Delivery]
    package let days: [Day]
    /// With what to ask on.
    package let next: String?

    /// - Throws: ``Unreadable``.
    package init(_ answer: RawJSON) throws(Unreadable) {
        let members = RawMembers.members(of: answer.bytes[...])
        var decoder = StoredRecordDecoder()
        let seq = Self.text(members["seq"])
        var (versions, current) = ([Version](), StoredRecord?.none)
        for version in RawMembers.elements(of: members["versions"] ?? []) {
            let parts = RawMembers.members(of: version)
            let record = try Self.record(parts["record"] ?? [], &decoder)
            versions.append(
                Version(
                    record: record, recordedAt: Self.text(parts["recordedAt"]), how: StoryWords.how(parts)))
            // What a source sent beneath a person's edit comes later, and is not shown.
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
    ) throws(Unreadable) -> StoredRecord {
        do {
            return try bytes.withUnsafeBytes { try decoder.record($0) }
        } catch {
            let reason = (error as? RecordRejection)?.reason ?? "\(error)"
            throw Unreadable(reason: "the hub sent a record that this program cannot read: \(reason)")
        }
    }

    private static func deliveries(_ bytes: ArraySlice<UInt8>?) throws(Unreadable) -> [Delivery] {
        guard let bytes else { return [] }
        do {
            return try JSONDecoder().decode([Delivery].self, from: Data(bytes))
        } catch {
            throw Unreadable(reason: "the hub's answer is of another version than this program: \(error)")
        }
    }

    /// A string's or number's text.
    static func text(_ value: ArraySlice<UInt8>?) -> String? {
        guard let value else { return nil }
        let text = String(decoding: value, as: UTF8.self)
        return text.hasPrefix("\"") ? String(text.dropFirst().dropLast()) : text
    }
}
