package import HubWire
package import Samples

/// The hub's answer to a command for entries by hand: the results, or those of a dry run.
package struct ManualAnswer: Sendable {
    package struct Entry: Sendable {
        /// 0 for a new record that was rejected.
        package let number: Int64
        /// `stored`, `duplicate`, or the code of a rejection.
        package let outcome: String
        package let person: String?
        package let reason: String?
        /// The current record, if it was changed.
        package let record: StoredRecord?
        /// For a new record, the newest earlier one of its type and person.
        package let last: StoredRecord?

        /// Whether the hub rejected the change, as opposed to finding nothing to change.
        package var isRejected: Bool { outcome != "stored" && outcome != "duplicate" }
    }

    package let entries: [Entry]
    package let text: String

    /// - Throws: ``HandFault`` if the answer has an unknown form.
    package init(_ answer: RawJSON?) throws(HandFault) {
        guard let answer else {
            throw HandFault("the hub reported no result; check it with hub samples", kind: .answer)
        }
        text = answer.text
        var entries: [Entry] = []
        for entry in RawMembers.elements(of: RawMembers.members(of: answer.bytes[...])["records"] ?? []) {
            let members = RawMembers.members(of: entry)
            func text(_ name: String) -> String? {
                members[name].flatMap { RawJSON(trusted: Array($0)).textValue }
            }
            guard let outcome = text("outcome"), let digits = members["number"],
                let number = Int64(String(decoding: digits, as: UTF8.self))
            else { throw HandFault("the hub's answer is of another version than this program", kind: .answer) }
            entries.append(
                Entry(
                    number: number, outcome: outcome, person: text("person"), reason: text("reason"),
                    record: try members["record"].map(Self.record),
                    last: try members["last"].map(Self.record)))
        }
        self.entries = entries
    }

    /// Combines several answers.
    package init(joining answers: [ManualAnswer]) {
        entries = answers.flatMap(\.entries)
        let isDryRun = answers.first?.text.hasPrefix("{\"dryRun\":true") ?? false
        let records = answers.flatMap { answer in
            RawMembers.elements(of: RawMembers.members(of: Array(answer.text.utf8)[...])["records"] ?? [])
                .map { String(decoding: $0, as: UTF8.self) }
        }
        text = "{\"dryRun\":\(isDryRun),\"records\":[\(records.joined(separator: ","))]}"
    }

    private static func record(_ bytes: ArraySlice<UInt8>) throws(HandFault) -> StoredRecord {
        var decoder = StoredRecordDecoder()
        let record = bytes.withUnsafeBytes { try? decoder.record($0) }
        guard let record else { throw HandFault("the hub sent a record that this program cannot read", kind: .answer) }
        return record
    }
}
