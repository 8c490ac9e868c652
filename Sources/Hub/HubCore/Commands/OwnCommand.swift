import HubWire

/// A command of the hub itself (Protocol §8.2): a small file in this folder, and a line in ``OwnCommands``.
///
/// A value of the type holds the checked arguments, decoded; its members have the names of the declaration.
protocol OwnCommand: Decodable, Sendable {
    /// Name, help, arguments, and whether it supports a dry run.
    static var declaration: CommandDeclaration { get }

    /// Carries the command out, on the poll loop between its `await`s; long work must be behind an `await`.
    ///
    /// The task is cancelled if the asker cancels or is gone, and at the deadline: throw `CancellationError` then, or finish work that must
    /// not be left half done. Only commands that declare it get a dry run.
    /// - Returns: the result, any JSON value.
    /// - Throws: ``CommandFailure`` with a reason for the asker; a `StoreError` is sent as `store`.
    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON
}

/// The call of a running command.
struct CommandCall: Sendable {
    /// Whether to change nothing and return the expected effects (R8.9).
    let isDryRun: Bool
    /// Reports progress to the asker; may be called from any thread, as often as convenient.
    let progress: ProgressRelay
    /// The records that the asker may see and change; `nil` for the owner, without bounds.
    let scope: CommandScope?
}

/// The failure of a command, as in its OUTCOME.
struct CommandFailure: Error {
    /// A word for scripts: `command` for wrong arguments, `store`, `stopping`, or the command's own.
    var code: String
    /// A sentence for people: what failed, where, why, and the remedy.
    var reason: String

    init(_ code: String, _ reason: String) { (self.code, self.reason) = (code, reason) }
}
