/// The owners' commands on their way to plugins and back (Protocol §8.2): events in, actions out, no sockets and no clock.
///
/// | state of a command | exits |
/// |---|---|
/// | running | OUTCOME: over · OUTCOME `ask`: asking · cancel: cancelling · deadline, asker gone: abandoned · plugin's session over: over (`lost`)
/// |
/// | asking | answer: running · the others as running |
/// | cancelling | OUTCOME: over · no OUTCOME within ``patience``, deadline, asker gone: abandoned · plugin's session over: over |
/// | abandoned | OUTCOME, plugin's session over: over |
///
/// Invariant: the asker of each command gets exactly one outcome other than `ask`, unless its session ends first (R8.11).
/// An abandoned command has been answered, but it still counts for its plugin, which may still be working on it.
/// Times are monotonic milliseconds.
public struct CommandRelay: Sendable {
    /// Maximum number of commands that a plugin may have open at a time; one more fails as `busy`.
    public static let openPerPlugin = 16
    /// How long the asker of a cancel waits for the plugin's own outcome.
    public static let patience: Int64 = 10_000
    /// Minimum milliseconds between two PROGRESS messages to the asker; of those that come faster, the latest is sent.
    public static let progressPause: Int64 = 100
    /// Maximum bytes of a PROGRESS's text that are sent on.
    public static let progressText = 1_024

    enum State: Hashable, Sendable { case running, asking, cancelling, abandoned }

    struct RelayedCommand: Sendable {
        let asker: SessionReference
        /// The asker's number of the command.
        let number: Int64
        let plugin: SessionReference
        /// `refresh of kitchen`, for reasons.
        let name: String
        let isDryRun: Bool
        var state = State.running
        /// When the asker's command fails with `deadline`, and the milliseconds that it had in all.
        var deadline: (at: Int64, allowed: Int64)?
        var lastReported: Int64?
        /// The latest progress that came too soon after the one before.
        var held: CommandProgress?

        var isAnswered: Bool { state == .abandoned }
    }

    /// Keyed by the hub's number, which plugins see.
    private(set) var relayed: [Int64: RelayedCommand] = [:]
    private var lastNumber: Int64 = 0

    public init() {}

    /// The number of commands that a plugin's session has open.
    public func count(of plugin: SessionReference) -> Int { relayed.values.count { $0.plugin == plugin } }
}

/// Action of the hub for a relayed command; the actions of an array are carried out in order.
public enum RelayAction: Hashable, Sendable {
    /// Send COMMAND to the plugin.
    case command(CommandRequest, to: SessionReference)
    /// Send PROGRESS to the asker.
    case progress(CommandProgress, to: SessionReference)
    /// Answer the asker's COMMAND.
    case outcome(CommandOutcome, to: SessionReference)
}

// MARK: - Events of the asker

extension CommandRelay {
    /// Begins a command that was checked against the plugin's manifest.
    ///
    /// - Parameters:
    ///   - arguments: checked, with defaults filled in.
    ///   - deadline: milliseconds from now.
    ///   - allowed: the milliseconds that the asker gave the command, if some of them have already passed.
    public mutating func begin(
        _ command: String, of instance: String, arguments: RawJSON, isDryRun: Bool, deadline: Int64?,
        allowed: Int64? = nil, for asker: SessionReference, number: Int64, to plugin: SessionReference, at now: Int64
    ) -> [RelayAction] {
        guard count(of: plugin) < Self.openPerPlugin else {
            let reason = "\(instance) is at \(Self.openPerPlugin) commands; wait for one to end, or cancel it"
            return [.outcome(CommandOutcome(id: number, .failed(code: "busy", reason: reason)), to: asker)]
        }
        lastNumber += 1
        relayed[lastNumber] = RelayedCommand(
            asker: asker, number: number, plugin: plugin, name: "\(command) of \(instance)", isDryRun: isDryRun,
            deadline: deadline.map { (now + $0, allowed ?? $0) })
        let request = CommandRequest(
            id: lastNumber, command: command, arguments: arguments, isDryRun: isDryRun, deadline: deadline)
        return [.command(request, to: plugin)]
    }

    /// Passes a person's answer to an `ask` on to the plugin.
    /// - Throws: `field` if the command has not asked anything.
    public mutating func answer(
        _ answer: RawJSON, to number: Int64, of asker: SessionReference
    ) throws(WireError) -> [RelayAction] {
        guard let id = find(number, asker), let command = relayed[id], command.state == .asking else {
            throw WireError(.field, "COMMAND.answer: command \(number) has no open question", ref: number)
        }
        relayed[id]?.state = .running
        return [.command(CommandRequest(id: id, content: .answer(answer)), to: command.plugin)]
    }

    /// Passes the asker's cancel on to the plugin; a second cancel changes nothing.
    public mutating func cancel(_ number: Int64, of asker: SessionReference, at now: Int64) -> [RelayAction] {
        guard let id = find(number, asker), let command = relayed[id], command.state != .cancelling else { return [] }
        relayed[id]?.state = .cancelling
        let limit = (at: now + Self.patience, allowed: Self.patience)
        relayed[id]?.deadline = command.deadline.map { $0.at <= limit.at ? $0 : limit } ?? limit
        return [.command(CommandRequest(id: id, content: .cancel), to: command.plugin)]
    }

    private func find(_ number: Int64, _ asker: SessionReference) -> Int64? {
        relayed.first { $0.value.number == number && $0.value.asker == asker && !$0.value.isAnswered }?.key
    }
}

// MARK: - Events of the plugin

extension CommandRelay {
    /// - Throws: `field` if the plugin has no such command open.
    public mutating func receive(
        _ progress: CommandProgress, from plugin: SessionReference, at now: Int64
    ) throws(WireError) -> [RelayAction] {
        let command = try relayedCommand(progress.id, plugin, "PROGRESS")
        guard !command.isAnswered else { return [] }
        var told = progress
        told.id = command.number
        if let text = told.text, text.utf8.count > Self.progressText {
            told.text = String(decoding: text.utf8.prefix(Self.progressText - 3), as: UTF8.self) + "…"
        }
        if let last = command.lastReported, now < last + Self.progressPause {
            relayed[progress.id]?.held = told
            return []
        }
        relayed[progress.id]?.lastReported = now
        relayed[progress.id]?.held = nil
        return [.progress(told, to: command.asker)]
    }

    /// - Throws: `field` if the plugin has no such command open.
    public mutating func receive(
        _ outcome: CommandOutcome, from plugin: SessionReference
    ) throws(WireError) -> [RelayAction] {
        let command = try relayedCommand(outcome.id, plugin, "OUTCOME")
        if case .ask = outcome.content {
            // A plugin that has been asked to cancel cannot ask any more.
            guard command.state == .running else { return [] }
            relayed[outcome.id]?.state = .asking
        } else {
            relayed[outcome.id] = nil
        }
        guard !command.isAnswered else { return [] }
        let held = command.held.map { [RelayAction.progress($0, to: command.asker)] } ?? []
        relayed[outcome.id]?.held = nil
        return held + [.outcome(CommandOutcome(id: command.number, outcome.content), to: command.asker)]
    }

    /// The `ref` of an ERROR names a message of the peer; these ids are the hub's, so the error has no `ref`.
    private func relayedCommand(
        _ id: Int64, _ plugin: SessionReference, _ verb: String
    ) throws(WireError) -> RelayedCommand {
        guard let command = relayed[id], command.plugin == plugin else {
            throw WireError(.field, "\(verb).id: no command \(id) is open")
        }
        return command
    }
}

// MARK: - Ends and time

extension CommandRelay {
    /// Ends the commands of a session that is over, an asker's or a plugin's.
    public mutating func ended(_ session: SessionReference) -> [RelayAction] {
        var actions: [RelayAction] = []
        for (id, command) in relayed.sorted(by: { $0.key < $1.key }) {
            if command.plugin == session {
                relayed[id] = nil
                guard !command.isAnswered, command.asker != session else { continue }
                let content = CommandOutcome.Content.failed(code: "lost", reason: Self.loss(of: command))
                actions.append(.outcome(CommandOutcome(id: command.number, content), to: command.asker))
            } else if command.asker == session, !command.isAnswered {
                actions += abandon(id, command)
            }
        }
        return actions
    }

    /// Handles the passing of time; call it at ``nextDeadline`` or whenever convenient.
    public mutating func tick(at now: Int64) -> [RelayAction] {
        var actions: [RelayAction] = []
        for (id, command) in relayed.sorted(by: { $0.key < $1.key }) where !command.isAnswered {
            if let deadline = command.deadline, now >= deadline.at {
                let told = command.state == .cancelling ? "was not cancelled" : "was not done"
                let reason =
                    "\(command.name) \(told) within \(deadline.allowed) ms; \(Self.possibility(command))"
                actions += abandon(id, command)
                let content = CommandOutcome.Content.failed(code: "deadline", reason: reason)
                actions.append(.outcome(CommandOutcome(id: command.number, content), to: command.asker))
            } else if let held = command.held, let last = command.lastReported, now >= last + Self.progressPause {
                relayed[id]?.held = nil
                relayed[id]?.lastReported = now
                actions.append(.progress(held, to: command.asker))
            }
        }
        return actions
    }

    /// When `tick` has something to do next, if nothing is received until then.
    public var nextDeadline: Int64? {
        relayed.values.lazy.filter { !$0.isAnswered }.compactMap { command in
            let progress = command.held == nil ? nil : command.lastReported.map { $0 + Self.progressPause }
            return [command.deadline?.at, progress].compactMap(\.self).min()
        }.min()
    }

    /// Asks the plugin to cancel, unless it was asked before, because no asker waits for the command any more.
    private mutating func abandon(_ id: Int64, _ command: RelayedCommand) -> [RelayAction] {
        relayed[id]?.state = .abandoned
        relayed[id]?.held = nil
        if command.state == .cancelling { return [] }
        return [.command(CommandRequest(id: id, content: .cancel), to: command.plugin)]
    }

    private static func loss(of command: RelayedCommand) -> String {
        "the session of the plugin ended before \(command.name) did; \(possibility(command))"
    }

    private static func possibility(_ command: RelayedCommand) -> String {
        command.isDryRun
            ? "it was a dry run, and has changed nothing"
            : "it may have happened, in whole or in part: check before you repeat it"
    }
}
