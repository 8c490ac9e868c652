import HubWire
import Logging
import Synchronization

/// Names a call for the life of the process: a hub that was started anew counts from the beginning.
struct CommandTicket: Hashable, Sendable {
    let session: Int
    /// The hub's number.
    let id: Int64
}

/// A call that the hub waits for.
struct OpenCommand {
    var work: Task<Void, Never>?
    /// The body waits for what a person answers.
    var question: CheckedContinuation<String, any Error>?
}

/// The calls of the hub.
struct CommandHandler {
    /// Knows the author's commands; nil until the author's part has begun.
    var serve: (@Sendable (CommandRequest, CommandTicket) async -> CommandOutcome.Content)?
    var open: [CommandTicket: OpenCommand] = [:]
    /// Arrived before `serve` was known.
    var early: [CommandRequest] = []
    /// Changes when a session is lost, and with it all its calls.
    var session = 0

    /// The hub asks for no more at a time (Protocol §8.2).
    static let bound = 16
}

/// Hands on the latest of what a call tells of its progress.
final class LatestProgress: Sendable {
    private let latest = Mutex<(progress: CommandProgress?, isAwaited: Bool)>((nil, false))
    /// Called when there is something to `take`, once until it is taken.
    private let handOver: @Sendable (LatestProgress) -> Void

    init(handOver: @escaping @Sendable (LatestProgress) -> Void) { self.handOver = handOver }

    func tell(_ progress: CommandProgress) {
        let isFirst = latest.withLock { latest in
            defer { latest = (progress, true) }
            return !latest.isAwaited
        }
        if isFirst { handOver(self) }
    }

    func take() -> CommandProgress? {
        latest.withLock { latest in
            defer { latest = (nil, false) }
            return latest.progress
        }
    }
}

extension HubLink {
    /// From now on commands are served.
    func serveCommands(
        _ serve: @escaping @Sendable (CommandRequest, CommandTicket) async -> CommandOutcome.Content
    ) {
        desk.serve = serve
        let early = desk.early
        desk.early = []
        for request in early { receive(request) }
    }

    func receive(_ request: CommandRequest) {
        let ticket = CommandTicket(session: desk.session, id: request.id)
        switch request.content {
        case .run: begin(request, ticket)
        case .answer(let answer):
            guard let question = desk.open[ticket]?.question else { return }
            desk.open[ticket]?.question = nil
            question.resume(returning: answer.textValue ?? answer.text)
        case .cancel:
            if let index = desk.early.firstIndex(where: { $0.id == request.id }) {
                desk.early.remove(at: index)
                return send(.cancelled, ticket)
            }
            desk.open[ticket]?.work?.cancel()
        }
    }

    private func begin(_ request: CommandRequest, _ ticket: CommandTicket) {
        guard !isStopping else {
            return send(.failed(code: "stopping", reason: "the plugin is being stopped; nothing was done"), ticket)
        }
        guard desk.open.count + desk.early.count < CommandHandler.bound else {
            return send(.failed(code: "busy", reason: "\(CommandHandler.bound) commands are open"), ticket)
        }
        guard let serve = desk.serve else { return desk.early.append(request) }
        desk.open[ticket] = OpenCommand()
        desk.open[ticket]?.work = Task {
            let content = await serve(request, ticket)
            self.finish(content, ticket)
        }
    }

    private func finish(_ content: CommandOutcome.Content, _ ticket: CommandTicket) {
        guard let call = desk.open.removeValue(forKey: ticket) else { return }
        call.question?.resume(throwing: CancellationError())
        send(content, ticket)
    }

    private func send(_ content: CommandOutcome.Content, _ ticket: CommandTicket) {
        guard ticket.session == desk.session else { return }
        if let action = machine.message(.outcome(CommandOutcome(id: ticket.id, content))) { perform([action]) }
    }

    func tell(_ teller: LatestProgress, _ ticket: CommandTicket) {
        guard let progress = teller.take(), desk.open[ticket] != nil else { return }
        pass(.progress(progress))
    }

    /// Sends OUTCOME `ask`, and waits for the answer.
    func ask(_ question: CommandQuestion, _ ticket: CommandTicket) async throws -> String {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled, desk.open[ticket] != nil else {
                    return continuation.resume(throwing: CancellationError())
                }
                guard desk.open[ticket]?.question == nil else {
                    return continuation.resume(
                        throwing: CommandFailure("failed", "the command asks two questions at a time"))
                }
                desk.open[ticket]?.question = continuation
                send(.ask(question), ticket)
            }
        } onCancel: {
            Task { await self.stopAsking(ticket) }
        }
    }

    private func stopAsking(_ ticket: CommandTicket) {
        desk.open[ticket]?.question?.resume(throwing: CancellationError())
        desk.open[ticket]?.question = nil
    }

    /// The session is over: nobody waits for its calls any more.
    func loseCommands() {
        let calls = desk.open.values
        desk.open = [:]
        desk.early = []
        desk.session += 1
        for call in calls { call.giveUp() }
    }

    /// The plugin is to stop: answers what is open while somebody can hear it.
    func stopCommands() {
        let calls = desk.open
        desk.open = [:]
        for (ticket, call) in calls {
            send(.failed(code: "stopping", reason: "the plugin is being stopped; a part may have been done"), ticket)
            call.giveUp()
        }
        for request in desk.early {
            let ticket = CommandTicket(session: desk.session, id: request.id)
            send(.failed(code: "stopping", reason: "the plugin is being stopped; nothing was done"), ticket)
        }
        desk.early = []
    }
}

extension OpenCommand {
    fileprivate func giveUp() {
        question?.resume(throwing: CancellationError())
        work?.cancel()
    }
}
