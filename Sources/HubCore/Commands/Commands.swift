import FoundationEssentials
import HubSessions
import HubSettings
import HubStore
import HubWire
import Logging
import ZeroMQ

/// Leads the hub's own commands: checks, begins, cancels, and answers each once (R8.11).
extension Door {
    func carryOut(_ request: CommandRequest, for client: Client) {
        let key = CommandKey(session: client.reference, id: request.id)
        switch request.content {
        case .answer(let answer):
            do throws(WireError) {
                perform(try relay.answer(answer, to: request.id, of: client.reference))
            } catch {
                complain(error, to: client)
            }
        case .cancel:
            commands[key]?.work.cancel()
            perform(relay.cancel(request.id, of: client.reference, at: now))
        case .run(let instance?, let command, let arguments, let isDryRun, let deadline) where instance != "hub":
            relay(command, to: instance, arguments, isDryRun: isDryRun, deadline: deadline, key)
        case .run(_, let command, let arguments, let isDryRun, let deadline):
            do throws(CommandFailure) {
                let type = try OwnCommands.named(command)
                let order = try Self.read(type, arguments, isDryRun: isDryRun)
                begin(order, key, isDryRun: isDryRun, deadline: deadline)
            } catch {
                finish(.failed(code: error.code, reason: error.reason), key)
            }
        }
    }

    /// A session is over: nobody waits for what it began.
    func cancelCommands(of session: SessionReference) {
        for key in commands.keys where key.session == session { commands.removeValue(forKey: key)?.cancel() }
    }

    private static func read(
        _ type: any OwnCommand.Type, _ arguments: RawJSON, isDryRun: Bool
    ) throws(CommandFailure) -> any OwnCommand {
        let declaration = type.declaration
        let check = ArgumentCheck(json: arguments.bytes, declarations: declaration.arguments)
        guard check.problems.isEmpty else { throw CommandFailure(problems: check.problems) }
        guard !isDryRun || declaration.canDryRun else { throw CommandFailure(noDryRunOf: declaration.name) }
        let checked = RawJSON(encoding: check.values.mapValues { $0.revealed() })
        do {
            return try JSONDecoder().decode(type, from: Data(checked.bytes))
        } catch {
            preconditionFailure("\(type) does not decode what it declares")
        }
    }

    private func begin(_ order: any OwnCommand, _ key: CommandKey, isDryRun: Bool, deadline: Int64?) {
        let teller = ProgressRelay(id: key.id) { [weak self] teller in
            Task { await self?.tell(teller, key) }
        }
        let call = CommandCall(isDryRun: isDryRun, progress: teller)
        let work = Task {
            let content = await outcome(of: order, call)
            finish(content, key)
        }
        let timer = deadline.map { deadline in
            loop.schedule(after: .milliseconds(deadline)) { [weak self] in
                self?.assumeIsolated { $0.overdue(key, deadline) }
            }
        }
        commands[key] = RunningCommand(work: work, deadline: timer)
    }

    private func outcome(of order: any OwnCommand, _ call: CommandCall) async -> CommandOutcome.Content {
        do {
            return .done(result: try await order.run(call, on: self))
        } catch let failure as CommandFailure {
            return .failed(code: failure.code, reason: failure.reason)
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
        let reason = "not done within \(deadline) ms; it was told to give up, and may have done a part of it"
        finish(.failed(code: "deadline", reason: reason), key)
    }

    /// Whatever still runs of it is cancelled: its answer has been given.
    private func finish(_ content: CommandOutcome.Content, _ key: CommandKey) {
        commands.removeValue(forKey: key)?.cancel()
        perform(sessions.answer(.outcome(CommandOutcome(id: key.id, content)), to: .command(key.id), in: key.session))
    }

    /// Sends the latest that a command has told of itself, at most ten times a second.
    private func tell(_ teller: ProgressRelay, _ key: CommandKey) {
        guard let toldAt = commands[key]?.toldAt else { return }
        let wait = toldAt + 100 - now
        guard wait <= 0 else {
            loop.schedule(after: .milliseconds(wait)) { [weak self] in self?.assumeIsolated { $0.tell(teller, key) } }
            return
        }
        guard let progress = teller.take() else { return }
        commands[key]?.toldAt = now
        send(.progress(progress), to: key.session.peer)
    }
}

/// A command that a session waits for.
struct CommandKey: Hashable {
    let session: SessionReference
    let id: Int64
}

/// One of the hub's own commands at work.
struct RunningCommand {
    let work: Task<Void, Never>
    let deadline: PollLoop.Timer?
    /// When the asker was last told of its progress, by the door's `now`.
    var toldAt: Int64 = -100

    func cancel() {
        work.cancel()
        deadline?.cancel()
    }
}
