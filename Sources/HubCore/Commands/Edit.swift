import FoundationEssentials
import HubSettings
import HubStore
import HubWire
import Samples

/// `edit`: a person corrects a sample, or takes the correction back.
struct Edit: OwnCommand {
    static let declaration = CommandDeclaration(
        "edit", help: "Corrects a sample, or takes its corrections back; no source can undo it.",
        arguments: [SettingDeclaration("number", .integer(Bounds(1)), help: "The record's number.", required: true)]
            + ManualRecord.valueArguments + [
                SettingDeclaration("start", .string(), help: "When, RFC 3339; of an instant the end moves with it."),
                SettingDeclaration("end", .string(), help: "The end of an interval, RFC 3339."),
                SettingDeclaration("note", .string(), help: "A remark, kept in the metadata."),
                SettingDeclaration("reason", .string(), help: "Why, for those who trace the record."),
                SettingDeclaration(
                    "undo", .boolean, help: "Take all edits of it away: what its source said last shows again.",
                    default: .boolean(false)),
            ], canDryRun: true)

    var number: Int64
    var value: Double?
    var unit: String?
    var name: String?
    var start: String?
    var end: String?
    var note: String?
    var reason: String?
    var undo: Bool

    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON {
        let isEmpty = value == nil && unit == nil && name == nil && start == nil && end == nil && note == nil
        guard undo == isEmpty, !undo || reason == nil else {
            throw CommandFailure(
                problems: [undo ? "undo: takes the number alone" : "expected value, name, start, end or note, or undo"])
        }
        let action: ManualChange
        if undo {
            action = .undoEdit(numbers: [number])
        } else {
            guard let stored = try await hub.store.records(numbers: [number]).first else {
                return try await hub.report(
                    [
                        ManualResult(
                            number: number,
                            result: .rejected(
                                Rejection(code: "unknown", reason: "no record has the number \(number)")))
                    ], isDryRun: call.isDryRun)
            }
            action = .edit(number: number, try edit(of: stored, hub.outlet.knownTypes))
        }
        let results = try await hub.carryOut(action, isDryRun: call.isDryRun)
        return try await hub.report(results, isDryRun: call.isDryRun)
    }

    private func edit(of stored: StoredRecord, _ registry: TypeRegistry) throws -> SampleEdit {
        var edit = SampleEdit(type: stored.type)
        edit.reason = reason
        // The store refuses what is not a sample now, and says so.
        guard case .sample(let sample) = stored.record else { return edit }
        if value != nil || name != nil || unit != nil {
            var record = ManualRecord(
                type: sample.type.rawValue, kind: sample.value.kind, start: sample.start.text, key: "edit")
            try record.take(value: value, unit: unit, name: name)
            let (checked, canonical) = try record.checked(registry)
            (edit.value, edit.canonical) = (checked.value, canonical)
        }
        edit.start = try start.map { try time($0, "start") }
        edit.end = try end.map { try time($0, "end") }
        edit.metadata = try note.map { try JSONObject.noted($0, in: sample.metadata) }
        return edit
    }

    private func time(_ text: String, _ name: String) throws -> Timestamp {
        do throws(Timestamp.ParseError) { return try Timestamp(parsing: text) } catch {
            throw CommandFailure("time", "\(name): \(error)")
        }
    }
}
