import HubWire
import ZeroMQ

/// Commands to plugins: checked against the manifest, and relayed by ``CommandRelay``.
extension Commands {
    /// Begins a command of an instance, or answers with the reason why it cannot begin.
    func relay(
        _ command: String, to instance: String, _ arguments: RawJSON, isDryRun: Bool, deadline: Int64?,
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
            perform([
                .outcome(CommandOutcome(id: key.id, .failed(code: error.code, reason: error.reason)), to: key.session)
            ])
        }
    }

    /// The arguments with names of persons spelt as in `hub.conf`, however they were typed (R8.63).
    ///
    /// A name that is none of the instance's persons stays: it may be a user that only the plugin knows.
    private func named(_ arguments: [String: SettingValue], of instance: String) -> [String: SettingValue] {
        let allowed = facts.instances[instance]?.persons
        let persons = facts.persons.filter { allowed?.contains($0.name) ?? true }
        func name(_ typed: String) -> String { persons.named(typed)?.name ?? typed }
        var arguments = arguments
        if let typed = arguments["person"]?.string { arguments["person"] = .string(name(typed)) }
        if let typed = arguments["persons"]?.strings {
            arguments["persons"] = .list(typed.map { .string(name($0)) })
        }
        return arguments
    }

    /// Whether an instance is working on a command, or one waits for it.
    func isAt(_ instance: String) -> Bool {
        awaited[instance] != nil || door.runner(of: instance).map { relay.count(of: $0) > 0 } ?? false
    }

    /// Whether commands wait until an instance has greeted the hub.
    func areAwaited(by instance: String) -> Bool { awaited[instance] != nil }

    private func declaration(of command: String, _ instance: String) throws(OwnCommandFailure) -> CommandDeclaration {
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

    private func tick() { perform(relay.tick(at: door.now)) }

    func perform(_ actions: [RelayAction]) {
        for action in actions {
            switch action {
            case .command(let request, let plugin): door.send(.command(request), to: plugin)
            case .progress(let progress, let asker): door.send(.progress(progress), to: asker)
            case .outcome(let outcome, let asker):
                audit(outcome.content, CommandKey(session: asker, id: outcome.id))
                door.answer(.outcome(outcome), to: .command(outcome.id), in: asker)
            }
        }
        relayTimer?.cancel()
        relayTimer = relay.nextDeadline.map { deadline in
            loop.schedule(after: .milliseconds(max(0, deadline - door.now))) { [weak self] in
                self?.tick()
            }
        }
    }
}
