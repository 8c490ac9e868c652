import HubWire

/// A command of the hub itself (Protocol §8.2): a small file in this folder, and a line in ``OwnCommands``.
///
/// A value of the type is its checked arguments, decoded: members are named as the declaration names them.
protocol OwnCommand: Decodable, Sendable {
    /// Name, help, arguments, and whether it can say what it would do.
    static var declaration: CommandDeclaration { get }

    /// Carries it out, on the poll loop between its `await`s: what takes long belongs behind one.
    ///
    /// Cancelled when the asker cancels or is gone, and at the deadline: throw `CancellationError` then, or finish what must not be left
    /// half done. A dry run comes only to commands that declare it.
    /// - Returns: the result, any JSON value.
    /// - Throws: ``CommandFailure`` for what the asker should read; a `StoreError` reads as `store`.
    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON
}

/// What a running command knows of its call.
struct CommandCall: Sendable {
    /// Change nothing and say what would be done (R8.9).
    let isDryRun: Bool
    /// Tells the asker how far it has come; from any thread, as often as convenient.
    let progress: ProgressRelay
    /// What the asker may see and change; `nil` for the owner, who may everything.
    let scope: CommandScope?
}

/// Why a command failed, as its OUTCOME says it.
struct CommandFailure: Error {
    /// A word for scripts: `command` for wrong arguments, `store`, `stopping`, or the command's own.
    var code: String
    /// A sentence for people: what, where, why, and what to do.
    var reason: String

    init(_ code: String, _ reason: String) { (self.code, self.reason) = (code, reason) }
}
