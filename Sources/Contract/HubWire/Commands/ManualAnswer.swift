package import Samples

/// The effect of a command by hand on each record, or the effect that it would have (R8.30).
package struct ManualAnswer: CommandResult {
    package struct Entry: Sendable {
        /// The members besides the records.
        struct Members: Codable {
            var number: Int64
            var type, person: String?
            var outcome: String
            var seq: Int64?
            var reason: String?
        }

        private let members: Members
        /// The current record, if it was changed.
        package let record: StoredRecord?
        /// For a new record, the newest earlier one of its type and person.
        package let last: StoredRecord?

        /// 0 for a new record that was rejected.
        package var number: Int64 { members.number }
        /// `stored`, `duplicate` (the record is already in that state), or the code of a rejection, such as `unknown`.
        package var outcome: String { members.outcome }
        package var person: String? { members.person }
        /// The reason of a rejection.
        package var reason: String? { members.reason }

        /// Whether the hub rejected the change, as opposed to finding nothing to change.
        package var isRejected: Bool { outcome != "stored" && outcome != "duplicate" }

        /// - Parameter known: the record as it is after the command, if the asker may know of it.
        package init(number: Int64, outcome: String, reason: String? = nil, known: StoredRecord?, last: StoredRecord?) {
            members = Members(
                number: number, type: known?.type.rawValue, person: known?.assignment.person?.name, outcome: outcome,
                seq: known?.sequence, reason: reason)
            (record, self.last) = (outcome == "stored" ? known : nil, last)
        }

        fileprivate init(_ bytes: ArraySlice<UInt8>) throws {
            members = try RawJSON(trusted: Array(bytes)).decoded()
            let raw = RawMembers.members(of: bytes)
            (record, last) = (try raw["record"].map(Self.record), try raw["last"].map(Self.record))
        }

        fileprivate var json: RawJSON {
            let object = RawJSON(encoding: members)
            let records = [("record", record), ("last", last)].compactMap { name, record in
                record.map { (name: name, value: Self.canonical($0)) }
            }
            return object.setting(records) ?? object
        }

        private static func record(_ bytes: ArraySlice<UInt8>) throws -> StoredRecord {
            var decoder = StoredRecordDecoder()
            return try bytes.withUnsafeBytes { try decoder.record($0) }
        }

        private static func canonical(_ record: StoredRecord) -> RawJSON {
            var bytes: [UInt8] = []
            RecordEncoder.append(record, to: &bytes)
            return RawJSON(trusted: bytes)
        }
    }

    package let entries: [Entry]
    /// As the hub wrote it.
    package let json: RawJSON
    package var text: String { json.text }

    package init(_ entries: [Entry], isDryRun: Bool) {
        self.entries = entries
        json = Self.json(entries.map { $0.json.bytes[...] }, isDryRun: isDryRun)
    }

    package init(_ json: RawJSON) throws {
        self.json = json
        guard RawMembers.members(of: json.bytes[...])["records"]?.first == UInt8(ascii: "[") else {
            throw UnreadableResult(description: "the result has no list of records")
        }
        entries = try Self.records(json).map { try Entry($0) }
    }

    /// Combines several answers.
    package init(joining answers: [ManualAnswer]) {
        entries = answers.flatMap(\.entries)
        let isDryRun = answers.first?.json.text.hasPrefix("{\"dryRun\":true") ?? false
        json = Self.json(answers.flatMap { Self.records($0.json) }, isDryRun: isDryRun)
    }

    private static func records(_ json: RawJSON) -> [ArraySlice<UInt8>] {
        RawMembers.elements(of: RawMembers.members(of: json.bytes[...])["records"] ?? [])
    }

    private static func json(_ records: [ArraySlice<UInt8>], isDryRun: Bool) -> RawJSON {
        RawJSON(
            trusted: Array("{\"dryRun\":\(isDryRun),\"records\":[".utf8) + Array(records.joined(separator: [0x2C]))
                + Array("]}".utf8))
    }
}
