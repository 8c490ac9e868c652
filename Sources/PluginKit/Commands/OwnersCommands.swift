import HubWire
import ZeroMQ

/// What this plugin has the hub do as its owner would, each with one outcome.
///
/// A part of the link's poll loop. A command waits for a session; it is never sent twice.
actor OwnersCommands {
    typealias Progress = @Sendable (CommandProgress) -> Void
    typealias Answering = @Sendable (CommandQuestion) async throws -> RawJSON

    private struct Call {
        let serial: Int
        let content: CommandRequest.Content
        let progress: Progress?
        let answering: Answering?
        let continuation: CheckedContinuation<CommandOutcome.Content, any Error>
        /// Its number in this session; `nil` while it waits to be sent.
        var number: Int64?
        /// Finds what the hub has asked.
        var answer: Task<Void, Never>?
    }

    /// The hub takes no more at a time (R8.4).
    private static let bound = 16

    private let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let outlet: HubOutlet
    private var open: [Call] = []
    private var lastSerial = 0

    init(on loop: PollLoop, outlet: HubOutlet) { (self.loop, self.outlet) = (loop, outlet) }

    /// Sends it as soon as there is a session, and returns its outcome: `done`, `failed` or `cancelled`.
    ///
    /// - Throws: ``AskError``; `CancellationError` when the task was cancelled, of which the hub is told.
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

    /// Sends what may be sent.
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
        // One without a call is of a command that was cancelled here.
        guard let index = index(outcome.id) else { return }
        guard case .ask(let question) = outcome.content else {
            remove(index).continuation.resume(returning: outcome.content)
            return send()
        }
        let serial = open[index].serial
        guard let answering = open[index].answering else {
            return fail(
                serial, CommandFailure("ask", "the command asks what this call cannot answer: \(question.prompt)"))
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

    /// No answer comes: the command is given up.
    private func fail(_ serial: Int, _ error: any Error) {
        guard let index = open.firstIndex(where: { $0.serial == serial }) else { return }
        let call = remove(index)
        if let number = call.number { outlet.send(.command(CommandRequest(id: number, content: .cancel))) }
        call.continuation.resume(throwing: error)
        send()
    }

    /// An ERROR that refers to a command.
    /// - Returns: whether it did.
    func refuse(_ error: WireError) -> Bool {
        guard let number = error.ref, let index = index(number) else { return false }
        let reason = "the hub refused: \(error.reason) (\(error.code))"
        remove(index).continuation.resume(throwing: AskError(.refused, reason, error: error))
        send()
        return true
    }

    /// What was sent may have happened; what was not waits for the next session.
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
