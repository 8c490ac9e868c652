import HubWire

/// The commands that this plugin sends to the hub with the rights of its owner; each ends with one outcome.
///
/// A command waits for a session and is never sent twice.
struct OwnerCommands {
    typealias Progress = @Sendable (CommandProgress) -> Void
    typealias Answering = @Sendable (CommandQuestion) async throws -> RawJSON

    fileprivate struct Call {
        let serial: Int
        let content: CommandRequest.Content
        let progress: Progress?
        let answering: Answering?
        let continuation: CheckedContinuation<CommandOutcome.Content, any Error>
        /// The number of the command in this session; `nil` until it is sent.
        var number: Int64?
        /// Looks for the answer to a question of the hub.
        var answer: Task<Void, Never>?
    }

    /// The maximum number of open commands that the hub accepts (R8.4).
    private static let bound = 16

    fileprivate static let stopped = AskError(
        .stopping, "the plugin is being stopped before the command had its outcome")

    fileprivate var open: [Call] = []

    fileprivate func index(_ number: Int64) -> Int? { open.firstIndex { $0.number == number } }

    fileprivate mutating func remove(_ index: Int) -> Call {
        let call = open.remove(at: index)
        call.answer?.cancel()
        return call
    }

    /// The waiting commands, up to the limit.
    fileprivate mutating func next(_ machine: inout ClientMachine) -> [ClientAction] {
        guard machine.isOpen else { return [] }
        var actions: [ClientAction] = []
        var sent = open.count { $0.number != nil }
        for index in open.indices where open[index].number == nil && sent < Self.bound {
            sent += 1
            let number = machine.nextNumber()
            open[index].number = number
            let request = CommandRequest(id: number, content: open[index].content)
            if let action = machine.message(.command(request)) { actions.append(action) }
        }
        return actions
    }

    /// Fails the commands that were sent, because they may have taken effect; the others wait for the next session.
    mutating func sessionLost() {
        for call in open where call.number != nil {
            call.answer?.cancel()
            call.continuation.resume(
                throwing: AskError(.lost, "the session ended before the command had its outcome; it may have happened"))
        }
        open.removeAll { $0.number != nil }
    }

    mutating func stop() {
        let calls = open
        open = []
        for call in calls {
            call.answer?.cancel()
            call.continuation.resume(throwing: Self.stopped)
        }
    }
}

extension HubLink {
    /// Sends a command as soon as there is a session, and returns its outcome: `done`, `failed` or `cancelled`.
    ///
    /// - Throws: ``AskError``; `CancellationError` if the task was cancelled, after sending a cancellation to the hub.
    func run(
        _ content: CommandRequest.Content, progress: OwnerCommands.Progress?, answering: OwnerCommands.Answering?
    ) async throws -> CommandOutcome.Content {
        let serial = nextSerial()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                guard !rejectsRequests else { return continuation.resume(throwing: OwnerCommands.stopped) }
                ownersCommands.open.append(
                    OwnerCommands.Call(
                        serial: serial, content: content, progress: progress, answering: answering,
                        continuation: continuation))
                sendCommands()
            }
        } onCancel: {
            Task { await self.cancelCommand(serial, CancellationError()) }
        }
    }

    func sendCommands() { perform(ownersCommands.next(&machine)) }

    /// Ends a command without its outcome: its caller was cancelled, or a question of the hub stays without an answer.
    private func cancelCommand(_ serial: Int, _ error: any Error) {
        guard let index = ownersCommands.open.firstIndex(where: { $0.serial == serial }) else { return }
        let call = ownersCommands.remove(index)
        if let number = call.number { send(.command(CommandRequest(id: number, content: .cancel))) }
        call.continuation.resume(throwing: error)
        sendCommands()
    }

    func receive(_ progress: CommandProgress) {
        guard let index = ownersCommands.index(progress.id) else { return }
        ownersCommands.open[index].progress?(progress)
    }

    func receive(_ outcome: CommandOutcome) {
        // An outcome without a call belongs to a command that was cancelled here.
        guard let index = ownersCommands.index(outcome.id) else { return }
        guard case .ask(let question) = outcome.content else {
            ownersCommands.remove(index).continuation.resume(returning: outcome.content)
            return sendCommands()
        }
        let serial = ownersCommands.open[index].serial
        guard let answering = ownersCommands.open[index].answering else {
            let reason = "the command asks a question that this call cannot answer: \(question.prompt)"
            return cancelCommand(serial, CommandFailure("ask", reason))
        }
        ownersCommands.open[index].answer = Task {
            do {
                let answer = try await answering(question)
                self.answerCommand(serial, answer)
            } catch {
                self.cancelCommand(serial, error)
            }
        }
    }

    private func answerCommand(_ serial: Int, _ answer: RawJSON) {
        guard let number = ownersCommands.open.first(where: { $0.serial == serial })?.number else { return }
        send(.command(CommandRequest(id: number, content: .answer(answer))))
    }

    /// Handles an ERROR that refers to a command.
    /// - Returns: whether the error refers to one.
    func refuseCommand(_ error: WireError) -> Bool {
        guard let number = error.ref, let index = ownersCommands.index(number) else { return false }
        let reason = "the hub refused: \(error.reason) (\(error.code))"
        ownersCommands.remove(index).continuation.resume(throwing: AskError(.refused, reason, error: error))
        sendCommands()
        return true
    }
}
