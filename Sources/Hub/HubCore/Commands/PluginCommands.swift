import HubWire
import ZeroMQ

/// Commands to plugins: checked against the manifest, and relayed by ``CommandRelay``.
///
/// A part of the door.
@DoorActor
final class PluginCommands {
    /// A command for a program that is started for it (R13.70) or has not greeted the hub yet (R8.18); it waits until the program has greeted.
    private struct AwaitedCommand {
        let key: CommandKey
        let command: String
        /// Checked, with defaults filled in.
        let arguments: RawJSON
        let isDryRun: Bool
        /// When the asker's command fails with `deadline`, by the door's `now`, and the milliseconds that it had.
        let deadline: (at: Int64, allowed: Int64)?
        /// Gives the command up when it fires.
        let timer: PollLoop.Timer
    }

    private let door: Door
    private var relay = CommandRelay()
    private var relayTimer: PollLoop.Timer?
    /// Commands that wait until a program has started, by instance.
    private var awaited: [String: [AwaitedCommand]] = [:]

    /// How long a program may take to greet the hub, including the end of the process before it.
    private static let startPatience: Int64 = 60_000

    init(of door: Door) { self.door = door }

    // MARK: - From the asker

    /// Begins a command of an instance, or answers with the reason why it cannot begin.
    func begin(
        _ command: String, of instance: String, _ arguments: RawJSON, isDryRun: Bool, deadline: Int64?,
        _ key: CommandKey
    ) {
        do throws(OwnCommandFailure) {
            let declaration = try declaration(of: command, instance)
            let check = ArgumentCheck(json: arguments.bytes, declarations: declaration.arguments)
            guard check.problems.isEmpty else { throw OwnCommandFailure(problems: check.problems) }
            guard !isDryRun || declaration.canDryRun else { throw OwnCommandFailure(noDryRunOf: command) }
            let arguments = RawJSON(encoding: named(check.values, of: instance).mapValues { $0.revealed() })
            // A program that was asked to stop may end before it begins the command.
            guard let plugin = door.runner(of: instance), door.isContinuing(plugin) else {
                return try keep(command, for: instance, arguments, isDryRun: isDryRun, deadline: deadline, key)
            }
            perform(
                relay.begin(
                    command, of: instance, arguments: arguments, isDryRun: isDryRun, deadline: deadline,
                    for: key.session, number: key.id, to: plugin, at: door.now))
        } catch {
            door.commands.answer(error.content, key)
        }
    }

    /// Passes a person's answer to an `ask` on to the plugin.
    func answer(_ answer: RawJSON, to key: CommandKey) {
        do throws(WireError) {
            perform(try relay.answer(answer, to: key.id, of: key.session))
        } catch {
            door.send(.error(error), to: key.session)
        }
    }

    func cancel(_ key: CommandKey) {
        for (instance, waiting) in awaited where waiting.contains(where: { $0.key == key }) {
            forget([key], of: instance)
            return door.commands.answer(.cancelled, key)
        }
        perform(relay.cancel(key.id, of: key.session, at: door.now))
    }

    /// Drops the waiting commands of a session that is over; those that it was working on are lost.
    func end(of session: SessionReference) {
        for (instance, waiting) in awaited {
            forget(Set(waiting.map(\.key).filter { $0.session == session }), of: instance)
        }
        perform(relay.ended(session))
    }

    /// The arguments with names of persons spelt as in `hub.conf`, however they were typed (R8.63).
    ///
    /// A name that is none of the instance's persons stays: it may be a user that only the plugin knows.
    private func named(_ arguments: [String: SettingValue], of instance: String) -> [String: SettingValue] {
        let allowed = door.facts.instances[instance]?.persons
        let persons = door.facts.persons.filter { allowed?.contains($0.name) ?? true }
        func name(_ typed: String) -> String { persons.named(typed)?.name ?? typed }
        var arguments = arguments
        if let typed = arguments["person"]?.string { arguments["person"] = .string(name(typed)) }
        if let typed = arguments["persons"]?.strings {
            arguments["persons"] = .list(typed.map { .string(name($0)) })
        }
        return arguments
    }

    private func declaration(of command: String, _ instance: String) throws(OwnCommandFailure) -> CommandDeclaration {
        let facts = door.facts
        guard let plugin = facts.plugins.first(where: { $0.name == instance }) else {
            let hint = nearestName(to: instance, among: facts.plugins.map(\.name)).map { "; did you mean \($0)?" }
            throw OwnCommandFailure(
                "command",
                "COMMAND.instance: hub.conf has no [plugin.\(instance.prefix(64))]\(hint ?? "; hub plugins lists those of hub.conf, hub setup adds one")"
            )
        }
        guard plugin.enabled else { throw OwnCommandFailure(disabled: instance, "absent") }
        guard let commands = facts.instances[instance]?.commands else {
            throw OwnCommandFailure(
                "absent",
                "the commands of \(instance) are not known: \(plugin.lastError ?? "its program has reported none")")
        }
        guard let declaration = commands.first(where: { $0.name == command }) else {
            throw OwnCommandFailure(unknown: command, of: instance, known: commands.map(\.name))
        }
        return declaration
    }

    // MARK: - Waiting for a program

    /// Whether an instance is working on a command, or one waits for it.
    func isAt(_ instance: String) -> Bool {
        awaited[instance] != nil || door.runner(of: instance).map { relay.count(of: $0) > 0 } ?? false
    }

    /// Whether commands wait until an instance has greeted the hub.
    func areAwaited(by instance: String) -> Bool { awaited[instance] != nil }

    /// Keeps a command for an instance that will get a session; starts the instance if it runs on a schedule.
    ///
    /// - Throws: `busy` if the instance has as many waiting commands as it may have open.
    private func keep(
        _ command: String, for instance: String, _ arguments: RawJSON, isDryRun: Bool, deadline: Int64?,
        _ key: CommandKey
    ) throws(OwnCommandFailure) {
        guard awaited[instance]?.count ?? 0 < CommandRelay.openPerPlugin else {
            throw OwnCommandFailure(
                "busy", "\(CommandRelay.openPerPlugin) commands wait for \(instance) to start; wait for one to end")
        }
        let wait = min(deadline ?? .max, Self.startPatience)
        let failure =
            deadline == wait
            ? OwnCommandFailure("deadline", "\(instance) has not greeted the hub within \(wait) ms; nothing was done")
            : OwnCommandFailure(
                "absent",
                "\(instance) has not greeted the hub within \(wait / 1_000) s; hub logs \(instance) may say why")
        let timer = door.loop.schedule(after: .milliseconds(wait)) { [weak self] in
            self?.giveUp([key], of: instance, because: failure)
        }
        awaited[instance, default: []].append(
            AwaitedCommand(
                key: key, command: command, arguments: arguments, isDryRun: isDryRun,
                deadline: deadline.map { (door.now + $0, $0) }, timer: timer))
        Task {
            if await door.commands.supervisor?.wake(instance) != true { cannotStart(instance) }
        }
    }

    /// Hands the waiting commands to an instance that has greeted the hub.
    func began(_ instance: String) {
        guard let waiting = awaited[instance], let plugin = door.runner(of: instance),
            door.isContinuing(plugin)
        else { return }
        awaited[instance] = nil
        for command in waiting {
            command.timer.cancel()
            perform(
                relay.begin(
                    command.command, of: instance, arguments: command.arguments, isDryRun: command.isDryRun,
                    deadline: command.deadline.map { max(1, $0.at - door.now) }, allowed: command.deadline?.allowed,
                    for: command.key.session, number: command.key.id, to: plugin, at: door.now))
        }
    }

    /// Fails the waiting commands of an instance that will not greet the hub for now.
    func cannotStart(_ instance: String) {
        guard let waiting = awaited[instance] else { return }
        let failure = OwnCommandFailure("absent", "\(instance) does not run now; hub status says why, and what to do")
        giveUp(Set(waiting.map(\.key)), of: instance, because: failure)
    }

    private func giveUp(_ keys: Set<CommandKey>, of instance: String, because failure: OwnCommandFailure) {
        let known = awaited[instance]?.map(\.key).filter(keys.contains) ?? []
        forget(keys, of: instance)
        for key in known { door.commands.answer(failure.content, key) }
    }

    private func forget(_ keys: Set<CommandKey>, of instance: String) {
        guard let waiting = awaited[instance], !keys.isEmpty else { return }
        for command in waiting where keys.contains(command.key) { command.timer.cancel() }
        let rest = waiting.filter { !keys.contains($0.key) }
        awaited[instance] = rest.isEmpty ? nil : rest
    }

    // MARK: - From the plugin

    /// Relays a plugin's progress.
    func relay(_ progress: CommandProgress, from session: ClientSession) {
        do throws(WireError) {
            perform(try relay.receive(progress, from: session.reference, at: door.now))
        } catch {
            door.send(.error(error), to: session.reference)
        }
    }

    /// Relays a plugin's outcome.
    func relay(_ outcome: CommandOutcome, from session: ClientSession) {
        do throws(WireError) {
            perform(try relay.receive(outcome, from: session.reference))
        } catch {
            door.send(.error(error), to: session.reference)
        }
    }

    private func perform(_ actions: [RelayAction]) {
        for action in actions {
            switch action {
            case .command(let request, let plugin): door.send(.command(request), to: plugin)
            case .progress(let progress, let asker): door.send(.progress(progress), to: asker)
            case .outcome(let outcome, let asker):
                door.commands.answer(outcome.content, CommandKey(session: asker, id: outcome.id))
            }
        }
        relayTimer?.cancel()
        relayTimer = relay.nextDeadline.map { deadline in
            door.loop.schedule(after: .milliseconds(max(0, deadline - door.now))) { [weak self] in
                self?.tick()
            }
        }
    }

    private func tick() { perform(relay.tick(at: door.now)) }
}

extension OwnCommandFailure {
    init(disabled instance: String, _ code: String) {
        self.init(
            code,
            "[plugin.\(instance)] has enabled = false in hub.conf; hub configure \(instance) --enable switches it on")
    }
}
