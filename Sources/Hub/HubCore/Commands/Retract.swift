import HubStore
import HubWire

/// `retract`: a person retracts records, or undoes that; no source can undo either (R6.4).
struct Retract: OwnCommand {
    static let declaration = CommandDeclaration(
        "retract", help: "Takes records back, or brings them back; no source can undo it.",
        arguments: [
            SettingDeclaration(
                "numbers", .list(of: .integer(Bounds(1))),
                help: "Record numbers, at most \(RecordQuery.maximumPage).", required: true),
            SettingDeclaration("reason", .string(), help: "The reason, shown with the retraction."),
            SettingDeclaration(
                "undo", .boolean, help: "Bring back records that were retracted by hand.", default: .boolean(false)),
            ManualChange.sequencesArgument, ManualChange.ownerArgument,
        ], canDryRun: true)

    var numbers: [Int64]
    var reason: String?
    var undo: Bool
    var seqs: [Int64]?
    var of: String?

    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON {
        guard !numbers.isEmpty, numbers.count <= RecordQuery.maximumPage else {
            throw CommandFailure(problems: ["numbers: expected 1 to \(RecordQuery.maximumPage) record numbers"])
        }
        guard !undo || reason == nil else { throw CommandFailure(problems: ["reason: undo takes none"]) }
        let action: ManualChange =
            undo ? .undoRetraction(numbers: numbers) : .retract(numbers: numbers, reason: reason)
        let change = action.expecting(try ManualChange.sequences(seqs, of: numbers))
        let results = try await hub.carryOut(try change.concerning(of, hub.facts, call.scope), call)
        return try await hub.report(results, call)
    }
}
