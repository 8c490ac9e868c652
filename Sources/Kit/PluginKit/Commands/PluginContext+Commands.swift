import Foundation
public import HubWire

extension PluginContext {
    /// Runs a command of the hub or of another plugin with the rights of the owner, and returns its result.
    ///
    /// The plugin's manifest must request the command (`owner`), and `hub.conf` must grant it. The command is never sent twice: after
    /// ``AskError/Code/lost``, check its effect before you repeat it. Cancelling the task asks the hub to stop the command, which may have completed
    /// by then.
    ///
    /// ```swift
    /// _ = try await hub.command("retract", ["numbers": .list([.integer(1043)]), "reason": .string("wrong")])
    /// _ = try await hub.command("refresh", of: "exist", ["days": .integer(7)])
    /// ```
    /// - Parameters:
    ///   - name: a command of the hub (Protocol §8.2, §8.3), or one that the manifest of the instance declares.
    ///   - instance: the `[plugin.<instance>]` that runs the command; `nil` for the hub.
    ///   - arguments: the arguments by name; those with a default are optional.
    ///   - isDryRun: change nothing, and return the changes that the command would make.
    ///   - deadline: the time after which the command is given up.
    ///   - progress: called with the progress, at most ten times a second.
    ///   - answering: answers the questions that the command asks a person, such as the page to log in at and the address on which it ended. Without
    ///     it, a command that asks is given up.
    /// - Returns: the result; `nil` if the command has none.
    /// - Throws: ``CommandFailure`` with the code and the sentence of the outcome; ``AskError``, whose `error` has the code `forbidden` if `hub.conf`
    ///   does not grant the command; `CancellationError`; the error that `answering` throws.
    public func command(
        _ name: String, of instance: String? = nil, _ arguments: [String: SettingValue] = [:], isDryRun: Bool = false,
        deadline: Duration? = nil, progress: (@Sendable (CommandProgress) -> Void)? = nil,
        answering: (@Sendable (CommandQuestion) async throws -> RawJSON)? = nil
    ) async throws -> RawJSON? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let written = try encoder.encode(arguments.mapValues { $0.revealed() })
        let limit = deadline.map { duration in
            let milliseconds = Int64(clamping: Int128(duration.attoseconds / 1_000_000_000_000_000))
            return min(max(milliseconds, CommandRequest.deadlines.lowerBound), CommandRequest.deadlines.upperBound)
        }
        let outcome = try await link.run(
            .run(
                instance: instance, command: name, arguments: RawJSON(trusted: Array(written)), isDryRun: isDryRun,
                deadline: limit), progress: progress, answering: answering)
        switch outcome {
        case .done(let result): return result
        case .failed(let code, let reason): throw CommandFailure(code, reason)
        case .ask, .cancelled: throw CancellationError()
        }
    }

    /// Runs one of the hub's own commands, and reads its result.
    ///
    /// - Throws: as ``command(_:of:_:isDryRun:deadline:progress:answering:)``; `UnreadableResult`.
    package func run<Command: OwnCommand>(
        _ command: Command.Type, _ arguments: [String: SettingValue] = [:], isDryRun: Bool = false,
        deadline: Duration? = nil
    ) async throws -> Command.Result {
        try Command.result(try await self.command(command.name, arguments, isDryRun: isDryRun, deadline: deadline))
    }
}
