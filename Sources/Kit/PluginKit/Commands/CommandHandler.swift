import HubWire
import Logging
import Synchronization
import ZeroMQ

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

/// Handles the commands that the hub sends to this plugin.
///
/// It runs on the link's poll loop.
actor CommandHandler {
    /// Runs one of the author's commands.
    typealias Server = @Sendable (CommandRequest, CommandTicket) async -> CommandOutcome.Content

    /// A call whose outcome the hub waits for.
    private struct Call {
        var work: Task<Void, Never>?
        /// Resumes the body when a person has answered its question.
        var question: CheckedContinuation<String, any Error>?

        func cancel() {
            question?.resume(throwing: CancellationError())
            work?.cancel()
        }
    }

    /// The maximum number of commands that the hub sends at the same time (Protocol §8.2).
    private static let bound = 16

    private let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let outlet: HubSender
    /// `nil` until the author's code has started.
    private var server: Server?
    private var open: [CommandTicket: Call] = [:] {
        didSet {
            guard open.isEmpty, !idlers.isEmpty else { return }
            let waiting = idlers
            idlers = []
            for idler in waiting { idler.resume() }
        }
    }
    /// Requests that arrived before `server` was set.
    private var early: [CommandRequest] = []
    /// Tasks that wait until no command is running.
    private var idlers: [CheckedContinuation<Void, Never>] = []
    /// Increases when a session is lost, and all its calls with it.
    private var session = 0

    init(on loop: PollLoop, outlet: HubSender) { (self.loop, self.outlet) = (loop, outlet) }

    /// Whether a command is running.
    var isBusy: Bool { !open.isEmpty }

    /// Returns when no command is running, or when the plugin has to stop.
    func untilIdle() async {
        guard !open.isEmpty else { return }
        await withCheckedContinuation { idlers.append($0) }
    }

    /// Starts to serve commands, beginning with those that arrived early.
    func serve(_ server: @escaping Server) {
        self.server = server
        let requests = early
        early = []
        for request in requests { receive(request) }
    }

    func receive(_ request: CommandRequest) {
        let ticket = CommandTicket(session: session, id: request.id)
        switch request.content {
        case .run: begin(request, ticket)
        case .answer(let answer):
            guard let question = open[ticket]?.question else { return }
            open[ticket]?.question = nil
            question.resume(returning: answer.textValue ?? answer.text)
        case .cancel:
            if let index = early.firstIndex(where: { $0.id == request.id }) {
                early.remove(at: index)
                return send(.cancelled, ticket)
            }
            open[ticket]?.work?.cancel()
        }
    }

    private func begin(_ request: CommandRequest, _ ticket: CommandTicket) {
        guard !outlet.isStopping else {
            return send(.failed(code: "stopping", reason: "the plugin is being stopped; nothing was done"), ticket)
        }
        guard open.count + early.count < Self.bound else {
            return send(.failed(code: "busy", reason: "\(Self.bound) commands are open"), ticket)
        }
        guard let server else { return early.append(request) }
        open[ticket] = Call()
        open[ticket]?.work = Task {
            let content = await server(request, ticket)
            self.finish(content, ticket)
        }
    }

    private func finish(_ content: CommandOutcome.Content, _ ticket: CommandTicket) {
        guard let call = open.removeValue(forKey: ticket) else { return }
        call.question?.resume(throwing: CancellationError())
        send(content, ticket)
    }

    private func send(_ content: CommandOutcome.Content, _ ticket: CommandTicket) {
        guard ticket.session == session else { return }
        outlet.send(.outcome(CommandOutcome(id: ticket.id, content)))
    }

    func tell(_ latest: LatestProgress, _ ticket: CommandTicket) {
        guard let progress = latest.take(), open[ticket] != nil else { return }
        outlet.sendIfReady(.progress(progress))
    }

    /// Sends OUTCOME `ask`, and waits for the answer.
    func ask(_ question: CommandQuestion, _ ticket: CommandTicket) async throws -> String {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled, open[ticket] != nil else {
                    return continuation.resume(throwing: CancellationError())
                }
                guard open[ticket]?.question == nil else {
                    return continuation.resume(
                        throwing: CommandFailure("failed", "the command asks two questions at a time"))
                }
                open[ticket]?.question = continuation
                send(.ask(question), ticket)
            }
        } onCancel: {
            Task { await self.stopAsking(ticket) }
        }
    }

    private func stopAsking(_ ticket: CommandTicket) {
        open[ticket]?.question?.resume(throwing: CancellationError())
        open[ticket]?.question = nil
    }

    /// Cancels all calls, because the hub no longer waits for the calls of a lost session.
    func sessionLost() {
        let calls = open.values
        open = [:]
        early = []
        session += 1
        for call in calls { call.cancel() }
    }

    /// Answers all open calls while the hub is still listening, because the plugin has to stop.
    func stop() {
        let calls = open
        open = [:]
        for (ticket, call) in calls {
            send(.failed(code: "stopping", reason: "the plugin is being stopped; a part may have been done"), ticket)
            call.cancel()
        }
        for request in early {
            let ticket = CommandTicket(session: session, id: request.id)
            send(.failed(code: "stopping", reason: "the plugin is being stopped; nothing was done"), ticket)
        }
        early = []
    }
}
