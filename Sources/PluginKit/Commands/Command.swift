import Foundation
public import HubSettings
public import HubWire

/// Something a plugin can be asked to do by its owner: `hub do NAME COMMAND`, `hub refresh NAME`, `hub login NAME` (``logIn(help:arguments:_:)``).
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
/// Several commands may run at a time, beside ``Plugin/run(_:)``.
public struct Command<P: Plugin>: Sendable {
    /// What a command answers: anything that can be written as JSON, or `nil` for nothing but its success.
    public typealias Result = (any Encodable & Sendable)?

    /// What the manifest says of it.
    public let declaration: CommandDeclaration
    let body: @Sendable (P, CommandCall) async throws -> Result

    /// A command and what it does.
    ///
    /// - Parameters:
    ///   - name: small letters, digits and `-`.
    ///   - help: one sentence that says what it does.
    ///   - arguments: declared as settings are; what arrives has been checked, with defaults filled in.
    ///   - canDryRun: whether `body` looks at ``CommandCall/isDryRun``.
    ///   - body: does it. Cancelled when the asker cancels or is gone, at the deadline, and when the plugin stops. What it throws is
    ///     the asker's answer: ``CommandFailure`` with its code, anything else as it describes itself, with code `failed`.
    public init(
        _ name: String, help: String, arguments: [SettingDeclaration] = [], canDryRun: Bool = false,
        _ body: @escaping @Sendable (P, CommandCall) async throws -> Result
    ) {
        declaration = CommandDeclaration(name, help: help, arguments: arguments, canDryRun: canDryRun)
        self.body = body
    }

    /// The result as JSON; `nil` when there is none.
    func run(_ plugin: P, _ call: CommandCall) async throws -> RawJSON? {
        guard let result = try await body(plugin, call) else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return RawJSON(trusted: Array(try encoder.encode(result)))
    }
}

/// One call of a command.
public struct CommandCall: Sendable {
    /// The same as ``Plugin/run(_:)`` has.
    public let hub: PluginContext
    /// Every argument that was given or has a default, checked.
    public let arguments: PluginSettings
    /// Change nothing, and return what would be done.
    public let isDryRun: Bool
    /// When the asker loses patience, and this call is cancelled; `nil`: never.
    public let deadline: ContinuousClock.Instant?
    let ticket: CommandTicket
    let teller: LatestProgress

    /// Tells the asker how far it has come; costs little, from any thread, as often as convenient.
    /// - Parameters:
    ///   - done: how much has been done, in whatever the command counts.
    ///   - total: of how much, where that is known.
    ///   - text: what is being done, for people.
    public func progress(_ done: some BinaryInteger, of total: (some BinaryInteger)? = Int?.none, _ text: String? = nil)
    {
        teller.tell(
            CommandProgress(
                id: ticket.id, done: Int64(clamping: done), total: total.map { Int64(clamping: $0) }, text: text))
    }

    /// Asks the caller a question, and waits for the answer; one question at a time.
    ///
    /// - Parameters:
    ///   - prompt: what the person is to do or to enter.
    ///   - url: a page to open.
    ///   - isSecret: the answer is not shown while it is entered, as with a password.
    /// - Returns: the answer; one that is not a JSON text comes as its JSON.
    public func ask(_ prompt: String, url: String? = nil, isSecret: Bool = false) async throws -> String {
        try await hub.link.commands.ask(CommandQuestion(prompt, url: url, isSecret: isSecret), ticket)
    }
}

/// Why a command failed, as its asker reads it.
public struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// A word for scripts.
    public let code: String
    /// One or two sentences for a person: what failed, and what to do.
    ///
    /// No health value, no token.
    public let message: String

    /// A failure with a word for scripts and a sentence for people.
    public init(_ code: String = "failed", _ message: String) { (self.code, self.message) = (code, message) }

    /// The message.
    public var description: String { message }
}

extension Plugin {
    /// The manifest with the commands that have their handlers beside them, and with what this library does for every plugin.
    package static var fullManifest: Manifest {
        var manifest = manifest
        manifest.commands += commands.map(\.declaration)
        manifest.checksSettings = true
        return manifest
    }
}
