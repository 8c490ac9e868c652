import Foundation
public import HubWire

/// A command that the owner can run: `hub do NAME COMMAND`, `hub refresh NAME`, `hub login NAME` (``logIn(help:arguments:_:)``).
///
/// ```swift
/// static let commands: [Command<Self>] = [
///     Command("refresh", help: "Asks the scale again now.", arguments: [
///         .init("days", .integer(Bounds(1, 30)), help: "How far back.", default: .integer(7))
///     ]) { plugin, call in
///         let days = try call.arguments.integer("days")
///         for day in 0..<days {
///             try await plugin.fetch(day, call.hub)
///             call.progress(day + 1, of: days)
///         }
///         return ["days": days]  // Anything Encodable, or nil.
///     }
/// ]
/// ```
///
/// Several commands may run at the same time, and while ``Plugin/run(_:)`` is running.
public struct Command<P: Plugin>: Sendable {
    /// The result of a command: any value that can be written as JSON, or `nil` for plain success.
    public typealias Result = (any Encodable & Sendable)?

    /// The declaration in the manifest.
    public let declaration: CommandDeclaration
    let body: @Sendable (P, CommandCall) async throws -> Result

    /// Creates a command with its handler.
    ///
    /// - Parameters:
    ///   - name: small letters, digits and `-`.
    ///   - help: one sentence that describes the command.
    ///   - arguments: declared like settings; the library checks the values and fills in defaults.
    ///   - canDryRun: whether `body` respects ``CommandCall/isDryRun``.
    ///   - body: runs the command. It is cancelled if the caller cancels or disconnects, at the deadline, and when the plugin stops. An error becomes
    ///     the caller's answer: ``CommandFailure`` with its code, any other error with its description and the code `failed`.
    public init(
        _ name: String, help: String, arguments: [SettingDeclaration] = [], canDryRun: Bool = false,
        _ body: @escaping @Sendable (P, CommandCall) async throws -> Result
    ) {
        declaration = CommandDeclaration(name, help: help, arguments: arguments, canDryRun: canDryRun)
        self.body = body
    }

    /// Runs the command and returns its result as JSON, or `nil` if there is none.
    func run(_ plugin: P, _ call: CommandCall) async throws -> RawJSON? {
        guard let result = try await body(plugin, call) else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return RawJSON(trusted: Array(try encoder.encode(result)))
    }
}

/// One call of a command.
public struct CommandCall: Sendable {
    /// The same context that ``Plugin/run(_:)`` receives.
    public let hub: PluginContext
    /// All arguments that were given or have a default, checked.
    public let arguments: PluginSettings
    /// If true, change nothing and return the changes that the command would make.
    public let isDryRun: Bool
    /// The time at which the caller gives up and this call is cancelled; `nil` if there is no limit.
    public let deadline: ContinuousClock.Instant?
    let ticket: CommandTicket
    let teller: LatestProgress

    /// Reports progress to the caller; it is cheap and may be called from any thread, as often as convenient.
    /// - Parameters:
    ///   - done: the completed amount, in any unit.
    ///   - total: the total amount, if known.
    ///   - text: the current step, for people.
    public func progress(_ done: some BinaryInteger, of total: (some BinaryInteger)? = Int?.none, _ text: String? = nil)
    {
        teller.tell(
            CommandProgress(
                id: ticket.id, done: Int64(clamping: done), total: total.map { Int64(clamping: $0) }, text: text))
    }

    /// Asks the caller a question and waits for the answer; only one question may be open at a time.
    ///
    /// - Parameters:
    ///   - prompt: the action or the input that is expected of the person.
    ///   - url: a page to open.
    ///   - isSecret: hides the input, as for a password.
    /// - Returns: the answer; an answer that is not a JSON string is returned as JSON.
    public func ask(_ prompt: String, url: String? = nil, isSecret: Bool = false) async throws -> String {
        try await hub.link.ask(CommandQuestion(prompt, url: url, isSecret: isSecret), ticket)
    }
}

/// The failure of a command, for its caller.
public struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// A word for scripts.
    public let code: String
    /// One or two sentences for a person: the failure and its remedy.
    ///
    /// It must not contain a health value or a token.
    public let message: String

    /// Creates a failure with a word for scripts and a sentence for people.
    public init(_ code: String = "failed", _ message: String) { (self.code, self.message) = (code, message) }

    /// The message.
    public var description: String { message }
}

extension Plugin {
    /// The manifest with the commands of ``Plugin/commands`` and the features that this library adds to every plugin.
    package static var fullManifest: Manifest {
        var manifest = manifest
        manifest.commands += commands.map(\.declaration)
        manifest.checksSettings = true
        return manifest
    }
}
