import HandEntries
import PluginKit
import Samples

/// A version of a record, of the answer to `trace`.
struct RecordVersion: Sendable {
    let record: StoredRecord
    let recordedAt: Timestamp?
    /// What a person did: `edited`, `retracted`, …; `nil` where its source gave it.
    private let deed: String?
    private let reason: String?
    /// Whether the source sent it beneath what a person did.
    private let isCovered: Bool

    static func all(in story: RawJSON) -> [RecordVersion] {
        let members = RawMembers.members(of: story.bytes[...])
        var decoder = StoredRecordDecoder()
        return RawMembers.elements(of: members["versions"] ?? []).compactMap { bytes in
            let parts = RawMembers.members(of: bytes)
            func text(_ name: String) -> String? { parts[name].flatMap { RawJSON(trusted: Array($0)).textValue } }
            guard let record = (parts["record"] ?? []).withUnsafeBytes({ try? decoder.record($0) }) else { return nil }
            return RecordVersion(
                record: record, recordedAt: text("recordedAt").flatMap { try? Timestamp(parsing: $0) },
                deed: text("deed"), reason: text("reason"), isCovered: parts["covered"] != nil)
        }
    }

    /// - Parameter viewer: why a record was given to one person may tell of another.
    func how(for viewer: Viewer) -> String {
        let done =
            switch deed {
            case "editUndone": "edit undone by hand"
            case "retractionUndone": "brought back by hand"
            case let deed?: "\(deed) by hand"
            case nil: isCovered ? "by its source, beneath what a person did" : "by its source"
            }
        guard let reason, viewer.isOwner || deed == "edited" || deed == "retracted" else { return done }
        return "\(done): \(reason)"
    }
}
