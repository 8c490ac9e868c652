import HubWire
import ZeroMQ

/// The commands that this plugin sends to the hub with the rights of its owner; each ends with one outcome.
///
/// It runs on the link's poll loop. A command waits for a session and is never sent twice.
actor OwnerCommands {
    typealias Progress = @Sendable (CommandProgress) -> Void
    typealias Answering = @Sendable (CommandQuestion) async throws -> RawJSON

    private struct Call {
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

    private let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let outlet: HubSender
    private var open: [Call] = []
    private var lastSerial = 0

    init(on loop: PollLoop, outlet: HubSender) { (self.loop, self.outlet) = (loop, outlet) }

    /// Sends a command as soon as there is a session, and returns its outcome: `done`, `failed` or `cancelled`.
    ///
    /// - Throws: ``AskError``; `CancellationError` if the task was cancelled, after sending a cancellation to the hub.
    func run(
        _ content: CommandRequest.Content, progress: Progress?, answering: Answering?
    ) async throws -> CommandOutcome.Content {
        lastSerial += 1
        let serial = lastSerial
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                guard !outlet.isStopping else { return continuation.resume(throwing: Self.stopped) }
                open.append(
                    Call(
                        serial: serial, content: content, progress: progress, answering: answering,
                        continuation: continuation))
                send()
            }
        } onCancel: {
            Task { await self.cancel(serial) }
        }
    }

    private static let stopped = AskError(.stopping, "the plugin is being stopped before the command had its outcome")

    private func cancel(_ serial: Int) {
        guard let index = open.firstIndex(where: { $0.serial == serial }) else { return }
        let call = remove(index)
        if let number = call.number { outlet.send(.command(CommandRequest(id: number, content: .cancel))) }
        call.continuation.resume(throwing: CancellationError())
        send()
    }

    private func remove(_ index: Int) -> Call {
        let call = open.remove(at: index)
        call.answer?.cancel()
        return call
    }

    /// Sends waiting commands up to the limit.
    func send() {
        guard outlet.session != nil else { return }
        var sent = open.count { $0.number != nil }
        for index in open.indices where open[index].number == nil && sent < Self.bound {
            sent += 1
            let number = outlet.nextNumber()
            open[index].number = number
            outlet.send(.command(CommandRequest(id: number, content: open[index].content)))
        }
    }

    private func index(_ number: Int64) -> Int? { open.firstIndex { $0.number == number } }

    func receive(_ progress: CommandProgress) {
        guard let index = index(progress.id) else { return }
        open[index].progress?(progress)
    }

    func receive(_ outcome: CommandOutcome) {
        // An outcome without a call belongs to a command that was cancelled here.
        guard let index = index(outcome.id) else { return }
        guard case .ask(let question) = outcome.content else {
            remove(index).continuation.resume(returning: outcome.content)
            return send()
        }
        let serial = open[index].serial
        guard let answering = open[index].answering else {
            return fail(
                serial,
                CommandFailure("ask", "the command asks a question that this call cannot answer: \(question.prompt)"))
        }
        open[index].answer = Task {
            do {
                let answer = try await answering(question)
                self.answer(serial, answer)
            } catch {
                self.fail(serial, error)
            }
        }
    }

    private func answer(_ serial: Int, _ answer: RawJSON) {
        guard let number = open.first(where: { $0.serial == serial })?.number else { return }
        outlet.send(.command(CommandRequest(id: number, content: .answer(answer))))
    }

    /// Gives up a command whose question stays without an answer.
    private func fail(_ serial: Int, _ error: any Error) {
        guard let index = open.firstIndex(where: { $0.serial == serial }) else { return }
        let call = remove(index)
        if let number = call.number { outlet.send(.command(CommandRequest(id: number, content: .cancel))) }
        call.continuation.resume(throwing: error)
        send()
    }

    /// Handles an ERROR that refers to a command.
    /// - Returns: whether the error refers to one.
    func refuse(_ error: WireError) -> Bool {
        guard let number = error.ref, let index = index(number) else { return false }
        let reason = "the hub refused: \(error.reason) (\(error.code))"
        remove(index).continuation.resume(throwing: AskError(.refused, reason, error: error))
        send()
        return true
    }

    /// Fails the commands that were sent, because they may have taken effect; the others wait for the next session.
    func sessionLost() {
        for call in open where call.number != nil {
            call.answer?.cancel()
            call.continuation.resume(
                throwing: AskError(.lost, "the session ended before the command had its outcome; it may have happened"))
        }
        open.removeAll { $0.number != nil }
    }

    func stop() {
        let calls = open
        open = []
        for call in calls {
            call.answer?.cancel()
            call.continuation.resume(throwing: Self.stopped)
        }
    }
}
