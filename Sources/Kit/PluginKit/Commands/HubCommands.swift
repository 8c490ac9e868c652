import HubWire
import Synchronization

/// Identifies a call for the life of the process; the number alone is not unique, because another hub counts from the beginning.
struct CommandTicket: Hashable, Sendable {
    let session: Int
    /// The hub's number.
    let id: Int64
}

/// Keeps the latest progress of a call.
final class LatestProgress: Sendable {
    private let latest = Mutex<(progress: CommandProgress?, isAwaited: Bool)>((nil, false))
    /// Called when there is progress to `take`, once until it is taken.
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

/// The commands that the hub sends to this plugin.
struct HubCommands {
    /// Runs one of the author's commands.
    typealias Server = @Sendable (CommandRequest, CommandTicket) async -> CommandOutcome.Content

    /// A call whose outcome the hub waits for.
    fileprivate struct Call {
        var work: Task<Void, Never>?
        /// Resumes the body when a person has answered its question.
        var question: CheckedContinuation<String, any Error>?

        func cancel() {
            question?.resume(throwing: CancellationError())
            work?.cancel()
        }
    }

    /// The maximum number of commands that the hub sends at the same time (Protocol §8.2).
    fileprivate static let bound = 16

    /// `nil` until the author's code has started.
    fileprivate var server: Server?
    fileprivate var open: [CommandTicket: Call] = [:] {
        didSet {
            guard open.isEmpty, !idlers.isEmpty else { return }
            let waiting = idlers
            idlers = []
            for idler in waiting { idler.resume() }
        }
    }
    /// Requests that arrived before `server` was set.
    fileprivate var early: [CommandRequest] = []
    /// Tasks that wait until no command is running.
    fileprivate var idlers: [CheckedContinuation<Void, Never>] = []
    /// Increases when a session is lost, and all its calls with it.
    fileprivate var session = 0

    /// Whether a command is running.
    var isBusy: Bool { !open.isEmpty }

    /// Cancels all calls, because the hub no longer waits for the calls of a lost session.
    mutating func sessionLost() {
        let calls = open.values
        open = [:]
        early = []
        session += 1
        for call in calls { call.cancel() }
    }
}

extension HubLink {
    /// Returns when no command is running, or when the plugin has to stop.
    func untilCommandsEnd() async {
        guard commands.isBusy else { return }
        await withCheckedContinuation { commands.idlers.append($0) }
    }

    /// Starts to serve commands, beginning with those that arrived early.
    func startServing(_ server: @escaping HubCommands.Server) {
        commands.server = server
        let requests = commands.early
        commands.early = []
        for request in requests { receive(request) }
    }

    func receive(_ request: CommandRequest) {
        let ticket = CommandTicket(session: commands.session, id: request.id)
        switch request.content {
        case .run: begin(request, ticket)
        case .answer(let answer):
            guard let question = commands.open[ticket]?.question else { return }
            commands.open[ticket]?.question = nil
            question.resume(returning: answer.textValue ?? answer.text)
        case .cancel:
            if let index = commands.early.firstIndex(where: { $0.id == request.id }) {
                commands.early.remove(at: index)
                return send(.cancelled, ticket)
            }
            commands.open[ticket]?.work?.cancel()
        }
    }

    private func begin(_ request: CommandRequest, _ ticket: CommandTicket) {
        guard !rejectsRequests else {
            return send(.failed(code: "stopping", reason: "the plugin is being stopped; nothing was done"), ticket)
        }
        guard commands.open.count + commands.early.count < HubCommands.bound else {
            return send(.failed(code: "busy", reason: "\(HubCommands.bound) commands are open"), ticket)
        }
        guard let server = commands.server else { return commands.early.append(request) }
        commands.open[ticket] = HubCommands.Call()
        commands.open[ticket]?.work = Task {
            let content = await server(request, ticket)
            self.finish(content, ticket)
        }
    }

    private func finish(_ content: CommandOutcome.Content, _ ticket: CommandTicket) {
        guard let call = commands.open.removeValue(forKey: ticket) else { return }
        call.question?.resume(throwing: CancellationError())
        send(content, ticket)
    }

    private func send(_ content: CommandOutcome.Content, _ ticket: CommandTicket) {
        guard ticket.session == commands.session else { return }
        send(.outcome(CommandOutcome(id: ticket.id, content)))
    }

    func tell(_ latest: LatestProgress, _ ticket: CommandTicket) {
        guard let progress = latest.take(), commands.open[ticket] != nil else { return }
        sendIfReady(.progress(progress))
    }

    /// Sends OUTCOME `ask`, and waits for the answer.
    func ask(_ question: CommandQuestion, _ ticket: CommandTicket) async throws -> String {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled, let call = commands.open[ticket] else {
                    return continuation.resume(throwing: CancellationError())
                }
                guard call.question == nil else {
                    return continuation.resume(
                        throwing: CommandFailure("failed", "the command asks two questions at a time"))
                }
                commands.open[ticket]?.question = continuation
                send(.ask(question), ticket)
            }
        } onCancel: {
            Task { await self.stopAsking(ticket) }
        }
    }

    private func stopAsking(_ ticket: CommandTicket) {
        commands.open[ticket]?.question?.resume(throwing: CancellationError())
        commands.open[ticket]?.question = nil
    }

    /// Answers all open calls while the hub is still listening, because the plugin has to stop.
    func stopCommands() {
        let calls = commands.open
        commands.open = [:]
        for (ticket, call) in calls {
            send(.failed(code: "stopping", reason: "the plugin is being stopped; a part may have been done"), ticket)
            call.cancel()
        }
        for request in commands.early {
            let ticket = CommandTicket(session: commands.session, id: request.id)
            send(.failed(code: "stopping", reason: "the plugin is being stopped; nothing was done"), ticket)
        }
        commands.early = []
    }
}
