import Foundation
public import HubSettings
public import HubWire

extension PluginContext {
    /// Has the hub, or another plugin, do what its owner may have it do, and returns the result.
    ///
    /// For a plugin whose manifest asks for the command (`owner`), and to which `hub.conf` grants it. It is never sent twice: after
    /// ``AskError/Code/lost`` look before you repeat it. A task that is cancelled asks the hub to stop it, which may have happened by then.
    ///
    /// ```swift
    /// _ = try await hub.command("retract", ["numbers": .list([.integer(1043)]), "reason": .string("wrong")])
    /// _ = try await hub.command("refresh", of: "exist", ["days": .integer(7)])
    /// ```
    /// - Parameters:
    ///   - name: of a command of the hub (Protocol §8.2, §8.3), or one that the manifest of the instance declares.
    ///   - instance: the `[plugin.<instance>]` that is to do it; `nil`: the hub itself.
    ///   - arguments: by name; what has a default may be left out.
    ///   - isDryRun: change nothing, and return what would be done.
    ///   - deadline: after which it is given up.
    ///   - progress: told how far it has come, at most ten times a second.
    ///   - answering: finds what the command asks a person for, such as the page to log in at and what it ended on; without it a command that
    ///     asks is given up.
    /// - Returns: the result; `nil` where there is none.
    /// - Throws: ``CommandFailure`` with the code and the sentence of the outcome; ``AskError``, of which `error` has the code `forbidden`
    ///   where `hub.conf` does not grant it; `CancellationError`; what `answering` throws.
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
        let outcome = try await link.ownersCommands.run(
            .run(
                instance: instance, command: name, arguments: RawJSON(trusted: Array(written)), isDryRun: isDryRun,
                deadline: limit), progress: progress, answering: answering)
        switch outcome {
        case .done(let result): return result
        case .failed(let code, let reason): throw CommandFailure(code, reason)
        case .ask, .cancelled: throw CancellationError()
        }
    }
}
