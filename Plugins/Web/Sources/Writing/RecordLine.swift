import HealthText
import PluginKit
import Samples

/// A record in a line of words.
enum RecordLine {
    /// For example `Weight 80.4 kg, 2026-03-15 07:30:05 +01:00`.
    static func line(_ record: StoredRecord, _ reader: DisplayPreferences) -> HTML {
        let value = ValueText.marked(record, for: reader)
        let parts = ["\(NameWords.type(record.type)) \(value)".trimmed, when(record, reader)]
        return "\(parts.filter { !$0.isEmpty }.joined(separator: ", "))"
    }

    static func when(_ record: StoredRecord, _ reader: DisplayPreferences) -> String {
        switch record.record {
        case .sample(let sample): MomentText.marked(record, sample, for: reader)
        case .day(let day): reader.date(day.date)
        case .retraction: ""
        }
    }

    /// The person's note.
    static func note(_ sample: Sample) -> String? {
        let members = RawMembers.members(of: Array((sample.metadata?.text ?? "{}").utf8)[...])
        return members["note"].flatMap { RawJSON(trusted: Array($0)).textValue }
    }
}

extension String {
    fileprivate var trimmed: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}

/// A button that undoes the last action.
enum UndoForm {
    /// - Parameter what: `add`, `edit` or `delete`.
    static func html(_ what: String, _ record: StoredRecord, _ label: HTML = "Undo") -> HTML {
        let fields = [(name: "what", value: what), (name: "version", value: "\(record.sequence)")]
        return HTML.button("\(RecordDetailPage.path(record.number))/undo", label, fields)
    }
}
