import HubWire

/// Carries out a command of the hub (Protocol §8.2): a small file in this folder implements it for each type in `OwnCommands.all`.
protocol CommandWork: OwnCommand {
    /// Carries the command out, on the poll loop between its `await`s; long work must be behind an `await`.
    ///
    /// The task is cancelled if the asker cancels or is gone, and at the deadline: throw `CancellationError` then, or finish work that must
    /// not be left half done. Only commands that declare it get a dry run.
    /// - Throws: ``OwnCommandFailure`` with a reason for the asker; a `StoreError` is sent as `store`.
    @DoorActor func run(_ call: OwnCommandCall, on hub: Commands) async throws -> Result
}

extension OwnCommands {
    /// - Throws: ``OwnCommandFailure``, which suggests the nearest name.
    static func named(_ name: String) throws(OwnCommandFailure) -> any CommandWork.Type {
        guard let command = all.first(where: { $0.name == name }) else {
            throw OwnCommandFailure(unknown: name, of: "the hub", known: all.map { $0.name })
        }
        guard let work = command as? any CommandWork.Type else { preconditionFailure("no file implements \(name)") }
        return work
    }
}

/// The call of a running command.
struct OwnCommandCall: Sendable {
    /// Whether to change nothing and return the expected effects (R8.9).
    let isDryRun: Bool
    /// Reports progress to the asker; may be called from any thread, as often as convenient.
    let progress: ProgressRelay
    /// The records that the asker may see and change; `nil` for the owner, without bounds.
    let scope: CommandScope?
}

/// The failure of a command, as in its OUTCOME.
package struct OwnCommandFailure: Error {
    /// A word for scripts: `command` for wrong arguments, `store`, `stopping`, or the command's own.
    package var code: String
    /// A sentence for people: what failed, where, why, and the remedy.
    package var reason: String

    package init(_ code: String, _ reason: String) { (self.code, self.reason) = (code, reason) }

    /// For an OUTCOME.
    var content: CommandOutcome.Content { .failed(code: code, reason: reason) }
}

extension OwnCommandFailure {
    /// A command that is not declared.
    init(unknown name: String, of whom: String, known: [String]) {
        let hint =
            nearestName(to: name, among: known).map { "did you mean \($0)?" }
            ?? (known.isEmpty ? "it has none" : "it has \(known.sorted().joined(separator: ", "))")
        self.init("command", "COMMAND.command: \(whom) has no command \"\(name.prefix(64))\"; \(hint)")
    }

    /// Arguments that do not fit their declarations; all problems in one sentence.
    init(problems: [String]) {
        self.init("command", "COMMAND.args: \(problems.joined(separator: "; "))")
    }

    /// A dry run of a command that does not support it.
    init(noDryRunOf name: String) {
        self.init(
            "command",
            "COMMAND.dryRun: \(name) has no dry run; send the command without dryRun, or not at all")
    }
}
