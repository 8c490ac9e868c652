public import HubWire

/// Commands of owners on their way to plugins and back (Protocol §8.2): events in, actions out, no sockets and no clock.
///
/// | state of an errand | exits |
/// |---|---|
/// | running | OUTCOME: over · OUTCOME `ask`: asking · cancel: cancelling · deadline, asker gone: abandoned · plugin's session over: over (`lost`) |
/// | asking | answer: running · the others as running |
/// | cancelling | OUTCOME: over · nothing for ``patience``, deadline, asker gone: abandoned · plugin's session over: over |
/// | abandoned | OUTCOME, plugin's session over: over |
///
/// Law: the asker of each errand is told one outcome other than `ask`, unless its session ends first (R8.11). An abandoned errand has been
/// answered, and still counts for its plugin, which may be at it. Times are monotonic milliseconds.
public struct CommandRelay: Sendable {
    /// Commands that a plugin may have open at a time; one more fails as `busy`.
    public static let openPerPlugin = 16
    /// How long after a cancel the asker waits for the plugin's own outcome.
    public static let patience: Int64 = 10_000
    /// Between two PROGRESS that are passed on; of what comes faster the latest counts.
    public static let progressPause: Int64 = 100
    /// Bytes of a PROGRESS's text that are passed on.
    public static let progressText = 1_024

    enum State: Hashable, Sendable { case running, asking, cancelling, abandoned }

    struct Errand: Sendable {
        let asker: SessionReference
        /// The asker's number of the command.
        let number: Int64
        let plugin: SessionReference
        /// `refresh of kitchen`, for reasons.
        let name: String
        let isDryRun: Bool
        var state = State.running
        /// When the asker is told that it took too long, and the milliseconds it had.
        var deadline: (at: Int64, allowed: Int64)?
        var lastTold: Int64?
        /// The latest progress that came too soon after the one before.
        var held: CommandProgress?

        var isAnswered: Bool { state == .abandoned }
    }

    /// By the hub's number, which plugins see.
    private(set) var errands: [Int64: Errand] = [:]
    private var lastNumber: Int64 = 0

    public init() {}

    /// Errands that a plugin's session is at.
    public func count(of plugin: SessionReference) -> Int { errands.values.count { $0.plugin == plugin } }
}

/// What the hub does for a relayed command, in this order.
public enum RelayAction: Hashable, Sendable {
    /// Send COMMAND to the plugin.
    case command(CommandRequest, to: SessionReference)
    /// Send PROGRESS to the asker.
    case progress(CommandProgress, to: SessionReference)
    /// Answer the asker's COMMAND.
    case outcome(CommandOutcome, to: SessionReference)
}

// MARK: - What the asker does

extension CommandRelay {
    /// A command that was checked against the plugin's manifest.
    ///
    /// - Parameters:
    ///   - arguments: checked, with defaults filled in.
    ///   - deadline: milliseconds from now.
    public mutating func begin(
        _ command: String, of instance: String, arguments: RawJSON, isDryRun: Bool, deadline: Int64?,
        for asker: SessionReference, number: Int64, to plugin: SessionReference, at now: Int64
    ) -> [RelayAction] {
        guard count(of: plugin) < Self.openPerPlugin else {
            let reason = "\(instance) is at \(Self.openPerPlugin) commands; wait for one to end, or cancel it"
            return [.outcome(CommandOutcome(id: number, .failed(code: "busy", reason: reason)), to: asker)]
        }
        lastNumber += 1
        errands[lastNumber] = Errand(
            asker: asker, number: number, plugin: plugin, name: "\(command) of \(instance)", isDryRun: isDryRun,
            deadline: deadline.map { (now + $0, $0) })
        let request = CommandRequest(
            id: lastNumber, command: command, arguments: arguments, isDryRun: isDryRun, deadline: deadline)
        return [.command(request, to: plugin)]
    }

    /// Whether a command of the asker is one of the relay's.
    public func holds(_ number: Int64, of asker: SessionReference) -> Bool { find(number, asker) != nil }

    /// What a person answered to `ask`.
    /// - Throws: `field` when the command has asked nothing.
    public mutating func answer(
        _ answer: RawJSON, to number: Int64, of asker: SessionReference
    ) throws(WireError) -> [RelayAction] {
        guard let id = find(number, asker), let errand = errands[id], errand.state == .asking else {
            throw WireError(.field, "COMMAND.answer: command \(number) has asked nothing", ref: number)
        }
        errands[id]?.state = .running
        return [.command(CommandRequest(id: id, content: .answer(answer)), to: errand.plugin)]
    }

    /// The asker wants it stopped; saying so twice is harmless.
    public mutating func cancel(_ number: Int64, of asker: SessionReference, at now: Int64) -> [RelayAction] {
        guard let id = find(number, asker), let errand = errands[id], errand.state != .cancelling else { return [] }
        errands[id]?.state = .cancelling
        let limit = (at: now + Self.patience, allowed: Self.patience)
        errands[id]?.deadline = errand.deadline.map { $0.at <= limit.at ? $0 : limit } ?? limit
        return [.command(CommandRequest(id: id, content: .cancel), to: errand.plugin)]
    }

    private func find(_ number: Int64, _ asker: SessionReference) -> Int64? {
        errands.first { $0.value.number == number && $0.value.asker == asker && !$0.value.isAnswered }?.key
    }
}

// MARK: - What the plugin does

extension CommandRelay {
    /// - Throws: `field` for a command that the plugin has not open.
    public mutating func receive(
        _ progress: CommandProgress, from plugin: SessionReference, at now: Int64
    ) throws(WireError) -> [RelayAction] {
        let errand = try errand(progress.id, plugin, "PROGRESS")
        guard !errand.isAnswered else { return [] }
        var told = progress
        told.id = errand.number
        if let text = told.text, text.utf8.count > Self.progressText {
            told.text = String(decoding: text.utf8.prefix(Self.progressText - 3), as: UTF8.self) + "…"
        }
        if let last = errand.lastTold, now < last + Self.progressPause {
            errands[progress.id]?.held = told
            return []
        }
        errands[progress.id]?.lastTold = now
        errands[progress.id]?.held = nil
        return [.progress(told, to: errand.asker)]
    }

    /// - Throws: `field` for a command that the plugin has not open.
    public mutating func receive(
        _ outcome: CommandOutcome, from plugin: SessionReference
    ) throws(WireError) -> [RelayAction] {
        let errand = try errand(outcome.id, plugin, "OUTCOME")
        if case .ask = outcome.content {
            // Who was told to give up has nothing more to ask.
            guard errand.state == .running else { return [] }
            errands[outcome.id]?.state = .asking
        } else {
            errands[outcome.id] = nil
        }
        guard !errand.isAnswered else { return [] }
        let held = errand.held.map { [RelayAction.progress($0, to: errand.asker)] } ?? []
        errands[outcome.id]?.held = nil
        return held + [.outcome(CommandOutcome(id: errand.number, outcome.content), to: errand.asker)]
    }

    /// The `ref` of an ERROR names a message of the peer; these ids are the hub's, so the error has none.
    private func errand(
        _ id: Int64, _ plugin: SessionReference, _ verb: String
    ) throws(WireError) -> Errand {
        guard let errand = errands[id], errand.plugin == plugin else {
            throw WireError(.field, "\(verb).id: no command \(id) is open")
        }
        return errand
    }
}

// MARK: - What happens

extension CommandRelay {
    /// A session is over, an asker's or a plugin's.
    public mutating func ended(_ session: SessionReference) -> [RelayAction] {
        var actions: [RelayAction] = []
        for (id, errand) in errands.sorted(by: { $0.key < $1.key }) {
            if errand.plugin == session {
                errands[id] = nil
                guard !errand.isAnswered, errand.asker != session else { continue }
                let content = CommandOutcome.Content.failed(code: "lost", reason: Self.loss(of: errand))
                actions.append(.outcome(CommandOutcome(id: errand.number, content), to: errand.asker))
            } else if errand.asker == session, !errand.isAnswered {
                actions += abandon(id, errand)
            }
        }
        return actions
    }

    /// Time has passed; call it at ``nextDeadline`` or whenever convenient.
    public mutating func tick(at now: Int64) -> [RelayAction] {
        var actions: [RelayAction] = []
        for (id, errand) in errands.sorted(by: { $0.key < $1.key }) where !errand.isAnswered {
            if let deadline = errand.deadline, now >= deadline.at {
                let told = errand.state == .cancelling ? "was not given up" : "was not done"
                let reason =
                    "\(errand.name) \(told) within \(deadline.allowed) ms; \(Self.possibility(errand))"
                actions += abandon(id, errand)
                let content = CommandOutcome.Content.failed(code: "deadline", reason: reason)
                actions.append(.outcome(CommandOutcome(id: errand.number, content), to: errand.asker))
            } else if let held = errand.held, let last = errand.lastTold, now >= last + Self.progressPause {
                errands[id]?.held = nil
                errands[id]?.lastTold = now
                actions.append(.progress(held, to: errand.asker))
            }
        }
        return actions
    }

    /// When `tick` has something to do next, if nothing is received until then.
    public var nextDeadline: Int64? {
        errands.values.lazy.filter { !$0.isAnswered }.compactMap { errand in
            let progress = errand.held == nil ? nil : errand.lastTold.map { $0 + Self.progressPause }
            return [errand.deadline?.at, progress].compactMap(\.self).min()
        }.min()
    }

    /// Nobody waits for it any more: the plugin is told to give up, if it was not before.
    private mutating func abandon(_ id: Int64, _ errand: Errand) -> [RelayAction] {
        errands[id]?.state = .abandoned
        errands[id]?.held = nil
        if errand.state == .cancelling { return [] }
        return [.command(CommandRequest(id: id, content: .cancel), to: errand.plugin)]
    }

    private static func loss(of errand: Errand) -> String {
        "the session of the plugin ended before \(errand.name) did; \(possibility(errand))"
    }

    private static func possibility(_ errand: Errand) -> String {
        errand.isDryRun
            ? "it was a dry run, and has changed nothing"
            : "it may have happened, in whole or in part: look before you repeat it"
    }
}
