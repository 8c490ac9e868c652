import HubWire
import ZeroMQ

/// The plugin's questions to the hub, QUERY and TOKEN; each has one answer.
///
/// It runs on the link's poll loop. A question waits for a session, and for its turn among the questions of its kind.
actor HubQuestions {
    private struct Question {
        let serial: Int
        let make: @Sendable (Int64) -> ClientMessage
        /// Whether the question is sent again in the next session; otherwise it fails if this session is lost.
        let repeats: Bool
        /// The number of the question in this session; `nil` until it is sent.
        var number: Int64?
        let continuation: CheckedContinuation<HubMessage, any Error>

        var isQuery: Bool { if case .query = make(0) { true } else { false } }
    }

    private let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let outlet: HubSender
    private var open: [Question] = []
    private var lastSerial = 0

    init(on loop: PollLoop, outlet: HubSender) { (self.loop, self.outlet) = (loop, outlet) }

    /// Sends a question as soon as there is a session, and returns the answer: RESULT or TOKEN.
    ///
    /// - Parameters:
    ///   - repeats: whether the question may be sent again if the session is lost before the answer.
    ///   - make: creates the message with its number.
    /// - Throws: ``AskError``, or `CancellationError`.
    func ask(repeats: Bool, _ make: @escaping @Sendable (Int64) -> ClientMessage) async throws -> HubMessage {
        lastSerial += 1
        let serial = lastSerial
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                guard !outlet.isStopping else { return continuation.resume(throwing: Self.stopped) }
                open.append(Question(serial: serial, make: make, repeats: repeats, continuation: continuation))
                send()
            }
        } onCancel: {
            Task { await self.forget(serial) }
        }
    }

    private static let stopped = AskError(.stopping, "the plugin is being stopped before the hub has answered")

    private func forget(_ serial: Int) {
        guard let index = open.firstIndex(where: { $0.serial == serial }) else { return }
        open.remove(at: index).continuation.resume(throwing: CancellationError())
        send()
    }

    /// The maximum number of open TOKEN and TOKEN-PUT messages (R11.8).
    private static let maximumTokens = 8

    /// Sends waiting questions up to the hub's limits (R8.4, R11.8).
    func send() {
        guard let limits = outlet.session?.limits else { return }
        for index in open.indices where open[index].number == nil {
            let isQuery = open[index].isQuery
            let count = open.count { $0.number != nil && $0.isQuery == isQuery }
            guard count < (isQuery ? limits.queries : Self.maximumTokens) else { continue }
            let number = outlet.nextNumber()
            open[index].number = number
            outlet.send(open[index].make(number))
        }
    }

    /// Handles RESULT or TOKEN with a number, or an ERROR that refers to it.
    /// - Returns: whether a question was waiting for it.
    func answer(_ number: Int64?, _ message: HubMessage) -> Bool {
        guard let number, let index = open.firstIndex(where: { $0.number == number }) else { return false }
        let question = open.remove(at: index)
        if case .error(let error) = message {
            let reason = "the hub refused: \(error.reason) (\(error.code))"
            question.continuation.resume(throwing: AskError(.refused, reason, error: error))
        } else {
            question.continuation.resume(returning: message)
        }
        send()
        return true
    }

    /// Fails the sent questions that may not be repeated; the others wait again.
    func sessionLost() {
        let lost = open.filter { $0.number != nil && !$0.repeats }
        open.removeAll { $0.number != nil && !$0.repeats }
        for index in open.indices { open[index].number = nil }
        for question in lost {
            question.continuation.resume(throwing: AskError(.lost, "the session ended before the hub answered"))
        }
    }

    func stop() {
        let questions = open
        open = []
        for question in questions { question.continuation.resume(throwing: Self.stopped) }
    }
}
