import HubStore
import HubWire

extension OwnCommands.Retract: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> ManualAnswer {
        guard !numbers.isEmpty, numbers.count <= OwnCommands.mostNumbers else {
            throw OwnCommandFailure(problems: ["numbers: expected 1 to \(OwnCommands.mostNumbers) record numbers"])
        }
        guard !undo || reason == nil else { throw OwnCommandFailure(problems: ["reason: undo takes none"]) }
        let action: ManualChange =
            undo ? .undoRetraction(numbers: numbers) : .retract(numbers: numbers, reason: reason)
        let change = action.expecting(try ManualChange.sequences(seqs, of: numbers))
        let results = try await hub.carryOut(try change.concerning(of, hub.facts, call.scope), call)
        return try await hub.report(results, call)
    }
}
