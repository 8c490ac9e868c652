import HubWire
import ZeroMQ

/// A command for a program that is started for it (R13.70) or has not greeted the hub yet (R8.18); it waits until the program has greeted.
struct AwaitedCommand {
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

extension Commands {
    /// How long a program may take to greet the hub, including the end of the process before it.
    private static let startPatience: Int64 = 60_000

    /// Keeps a command for an instance that will get a session; starts the instance if it runs on a schedule.
    ///
    /// - Throws: `busy` if the instance has as many waiting commands as it may have open.
    func keep(
        _ command: String, for instance: String, _ arguments: RawJSON, isDryRun: Bool, deadline: Int64?,
        _ key: CommandKey
    ) throws(OwnCommandFailure) {
        guard awaited[instance]?.count ?? 0 < CommandRelay.openPerPlugin else {
            throw OwnCommandFailure(
                "busy", "\(CommandRelay.openPerPlugin) commands wait for \(instance) to start; wait for one to end")
        }
        let wait = min(deadline ?? .max, Self.startPatience)
        let timer = loop.schedule(after: .milliseconds(wait)) { [weak self] in
            self?.giveUp([key], of: instance) {
                deadline == wait
                    ? OwnCommandFailure(
                        "deadline", "\(instance) has not greeted the hub within \(wait) ms; nothing was done")
                    : OwnCommandFailure(
                        "absent",
                        "\(instance) has not greeted the hub within \(wait / 1_000) s; hub logs \(instance) may say why"
                    )
            }
        }
        awaited[instance, default: []].append(
            AwaitedCommand(
                key: key, command: command, arguments: arguments, isDryRun: isDryRun,
                deadline: deadline.map { (door.now + $0, $0) }, timer: timer))
        Task {
            if await supervisor?.wake(instance) != true { cannotStart(instance) }
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
        giveUp(Set(waiting.map(\.key)), of: instance) { OwnCommandFailure(doesNotRun: instance) }
    }

    /// Cancels a waiting command for its asker.
    ///
    /// - Returns: whether it was a waiting command.
    func cancelAwaited(_ key: CommandKey) -> Bool {
        for (instance, waiting) in awaited where waiting.contains(where: { $0.key == key }) {
            forget([key], of: instance)
            perform([.outcome(CommandOutcome(id: key.id, .cancelled), to: key.session)])
            return true
        }
        return false
    }

    /// Drops the waiting commands of a session that is over.
    func forgetAwaited(of session: SessionReference) {
        for (instance, waiting) in awaited {
            forget(Set(waiting.map(\.key).filter { $0.session == session }), of: instance)
        }
    }

    private func giveUp(_ keys: Set<CommandKey>, of instance: String, because failure: () -> OwnCommandFailure) {
        let known = awaited[instance]?.map(\.key).filter(keys.contains) ?? []
        forget(keys, of: instance)
        let failure = failure()
        perform(
            known.map { key in
                .outcome(
                    CommandOutcome(id: key.id, .failed(code: failure.code, reason: failure.reason)), to: key.session)
            })
    }

    private func forget(_ keys: Set<CommandKey>, of instance: String) {
        guard let waiting = awaited[instance], !keys.isEmpty else { return }
        for command in waiting where keys.contains(command.key) { command.timer.cancel() }
        let rest = waiting.filter { !keys.contains($0.key) }
        awaited[instance] = rest.isEmpty ? nil : rest
    }
}

extension OwnCommandFailure {
    init(disabled instance: String, _ code: String) {
        self.init(
            code,
            "[plugin.\(instance)] has enabled = false in hub.conf; hub configure \(instance) --enable switches it on")
    }

    init(doesNotRun instance: String) {
        self.init("absent", "\(instance) does not run now; hub status says why, and what to do")
    }
}
