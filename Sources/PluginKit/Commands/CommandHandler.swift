import HubWire
import Logging
import Synchronization
import ZeroMQ

/// Names a call for the life of the process: another hub counts its calls from the beginning.
struct CommandTicket: Hashable, Sendable {
    let session: Int
    /// The hub's number.
    let id: Int64
}

/// Keeps the latest of what a call tells of its progress.
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

/// The calls of the hub: what it asks this plugin to do.
///
/// A part of the link's poll loop.
actor CommandHandler {
    /// Knows the author's commands.
    typealias Server = @Sendable (CommandRequest, CommandTicket) async -> CommandOutcome.Content

    /// A call that the hub waits for.
    private struct Call {
        var work: Task<Void, Never>?
        /// The body waits for what a person answers.
        var question: CheckedContinuation<String, any Error>?

        func cancel() {
            question?.resume(throwing: CancellationError())
            work?.cancel()
        }
    }

    /// The hub asks for no more at a time (Protocol §8.2).
    private static let bound = 16

    private let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let outlet: HubOutlet
    /// Nil until the author's part has begun.
    private var server: Server?
    private var open: [CommandTicket: Call] = [:] {
        didSet {
            guard open.isEmpty, !idlers.isEmpty else { return }
            let waiting = idlers
            idlers = []
            for idler in waiting { idler.resume() }
        }
    }
    /// Arrived before `server` was known.
    private var early: [CommandRequest] = []
    /// Wait until no call is carried out.
    private var idlers: [CheckedContinuation<Void, Never>] = []
    /// Changes when a session is lost, and with it all its calls.
    private var session = 0

    init(on loop: PollLoop, outlet: HubOutlet) { (self.loop, self.outlet) = (loop, outlet) }

    /// Whether a call is being carried out.
    var isBusy: Bool { !open.isEmpty }

    /// Returns when no call is carried out, also because the plugin is to stop.
    func untilIdle() async {
        guard !open.isEmpty else { return }
        await withCheckedContinuation { idlers.append($0) }
    }

    /// From now on commands are served.
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

    /// The hub waits for none of the session's calls any more.
    func sessionLost() {
        let calls = open.values
        open = [:]
        early = []
        session += 1
        for call in calls { call.cancel() }
    }

    /// The plugin is to stop: answers what is open while the hub still listens.
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
