import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// Carries out commands: checks, runs, cancels and answers the hub's own exactly once (R8.11); ``PluginCommands`` relays those to plugins.
///
/// A part of the door.
@DoorActor
final class Commands {
    let loop: PollLoop

    let store: Store
    let secrets: Result<SecretStore, StoreError>
    let committer: Committer
    let eraser: Eraser
    let retainer: RetentionService
    let door: Door
    let logger: Logger
    /// Stops the hub in an orderly way.
    var stopHub: (@Sendable () -> Void)?
    /// Carries out commands about plugins; nil until plugins are started.
    private(set) weak var supervisor: Supervisor?
    /// Applies changes of `hub.conf`; nil until then too.
    private(set) weak var keeper: ConfigurationManager?

    private var running: [CommandKey: RunningCommand] = [:]
    let audit: CommandAudit

    init(of door: Door) {
        (self.door, store, secrets, committer) = (door, door.store, door.secrets, door.committer)
        (loop, logger, audit) = (door.loop, door.logger, CommandAudit(of: door))
        eraser = Eraser(store: store, committer: committer, logger: logger)
        retainer = RetentionService(store: store, committer: committer, clock: door.facts.clock, logger: logger)
    }

    var facts: HubContext { door.facts }
    /// The standard types and those that programs have declared since the start.
    var knownTypes: TypeRegistry { door.greetings.declared.registry }
    /// The time zones of the persons in `hub.conf`, by name.
    var zones: [String: String] { facts.personsByName.mapValues(\.zone) }

    /// Enables the commands about plugins and `hub.conf`.
    func serve(_ supervisor: Supervisor, _ keeper: ConfigurationManager) {
        (self.supervisor, self.keeper) = (supervisor, keeper)
    }

    /// Carries out a COMMAND that its session has admitted.
    func carryOut(_ request: CommandRequest, for session: ClientSession) {
        let key = CommandKey(session: session.reference, id: request.id)
        audit.began(request, session, key)
        switch request.content {
        case .answer(let answer): door.pluginCommands.answer(answer, to: key)
        case .cancel:
            running[key]?.work.cancel()
            door.pluginCommands.cancel(key)
        case .run(let instance?, let command, let arguments, let isDryRun, let deadline) where instance != "hub":
            door.pluginCommands.begin(
                command, of: instance, arguments, isDryRun: isDryRun, deadline: deadline, key)
        case .run(_, let command, let arguments, let isDryRun, let deadline):
            do throws(OwnCommandFailure) {
                let type = try OwnCommands.named(command)
                if let setup = facts.setup, !OwnCommands.Setup.usable.contains(command) {
                    throw OwnCommandFailure("setup", setup.refusal(of: command))
                }
                let order = try Self.read(type, arguments, isDryRun: isDryRun)
                begin(
                    order, key, isDryRun: isDryRun, deadline: deadline, CommandScope(session, facts.clock))
            } catch {
                finish(error.content, key)
            }
        }
    }

    /// Ends the commands of a session that is over.
    func end(of session: SessionReference) {
        for key in running.keys where key.session == session { running.removeValue(forKey: key)?.cancel() }
        audit.end(of: session)
    }

    func cancelAll() {
        for command in running.values { command.cancel() }
    }

    private static func read(
        _ type: any CommandWork.Type, _ arguments: RawJSON, isDryRun: Bool
    ) throws(OwnCommandFailure) -> any CommandWork {
        let declaration = type.declaration
        let check = ArgumentCheck(json: arguments.bytes, declarations: declaration.arguments)
        guard check.problems.isEmpty else { throw OwnCommandFailure(problems: check.problems) }
        guard !isDryRun || declaration.canDryRun else { throw OwnCommandFailure(noDryRunOf: declaration.name) }
        let checked = RawJSON(encoding: check.values.mapValues { $0.revealed() })
        do {
            return try Self.decoded(type, checked)
        } catch {
            preconditionFailure("\(type) cannot decode its declared arguments")
        }
    }

    private static func decoded<Command: CommandWork>(_ type: Command.Type, _ checked: RawJSON) throws -> Command {
        try checked.decoded()
    }

    private func begin(
        _ order: any CommandWork, _ key: CommandKey, isDryRun: Bool, deadline: Int64?, _ scope: CommandScope?
    ) {
        let teller = ProgressRelay(id: key.id) { [weak self] teller in
            Task { await self?.tell(teller, key) }
        }
        let call = OwnCommandCall(isDryRun: isDryRun, progress: teller, scope: scope)
        let work = Task {
            let content = await outcome(of: order, call)
            finish(content, key)
        }
        let timer = deadline.map { deadline in
            loop.schedule(after: .milliseconds(deadline)) { [weak self] in
                self?.overdue(key, deadline)
            }
        }
        running[key] = RunningCommand(work: work, deadline: timer)
    }

    private func outcome(of order: any CommandWork, _ call: OwnCommandCall) async -> CommandOutcome.Content {
        do {
            if type(of: order).demandsAll { try call.scope?.requireAllRecords(for: type(of: order).name) }
            return .done(result: try await order.run(call, on: self).json)
        } catch let failure as OwnCommandFailure {
            return failure.content
        } catch let error as StoreError where error.code == .interrupted {
            return .cancelled
        } catch let error as StoreError {
            return .failed(code: "store", reason: "\(error)")
        } catch is CancellationError {
            return .cancelled
        } catch {
            logger.error("a command failed", metadata: ["error": "\(error)"])
            return .failed(code: "internal", reason: "the hub's own fault; it is in its log")
        }
    }

    private func overdue(_ key: CommandKey, _ deadline: Int64) {
        let reason = "not done within \(deadline) ms; it was cancelled, and a part of it may be done"
        finish(.failed(code: "deadline", reason: reason), key)
    }

    /// Answers a command and cancels the rest of its work.
    private func finish(_ content: CommandOutcome.Content, _ key: CommandKey) {
        running.removeValue(forKey: key)?.cancel()
        answer(content, key)
    }

    /// Answers a command, of the hub or of a plugin.
    func answer(_ content: CommandOutcome.Content, _ key: CommandKey) {
        audit.ended(content, key)
        door.answer(.outcome(CommandOutcome(id: key.id, content)), to: .command(key.id), in: key.session)
    }

    /// Sends the latest progress of a command, at most ten times a second.
    private func tell(_ teller: ProgressRelay, _ key: CommandKey) {
        guard let toldAt = running[key]?.toldAt else { return }
        let wait = toldAt + 100 - door.now
        guard wait <= 0 else {
            loop.schedule(after: .milliseconds(wait)) { [weak self] in self?.tell(teller, key) }
            return
        }
        guard let progress = teller.take() else { return }
        running[key]?.toldAt = door.now
        door.send(.progress(progress), to: key.session)
    }
}

/// A command that a session waits for.
struct CommandKey: Hashable {
    let session: SessionReference
    let id: Int64
}

/// One of the hub's own commands that is running.
struct RunningCommand {
    let work: Task<Void, Never>
    let deadline: PollLoop.Timer?
    /// When the asker last got a PROGRESS, by the door's `now`.
    var toldAt: Int64 = -100

    func cancel() {
        work.cancel()
        deadline?.cancel()
    }
}
