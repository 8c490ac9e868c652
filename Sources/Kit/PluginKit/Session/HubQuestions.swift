import HubWire

/// The plugin's questions to the hub, QUERY and TOKEN; each has one answer.
///
/// A question waits for a session, and for its turn among the questions of its kind.
struct HubQuestions {
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

    /// The maximum number of open TOKEN and TOKEN-PUT messages (R11.8).
    private static let maximumTokens = 8

    static let stopped = AskError(.stopping, "the plugin is being stopped before the hub has answered")

    private var open: [Question] = []

    mutating func add(
        _ serial: Int, repeats: Bool, _ continuation: CheckedContinuation<HubMessage, any Error>,
        _ make: @escaping @Sendable (Int64) -> ClientMessage
    ) {
        open.append(Question(serial: serial, make: make, repeats: repeats, continuation: continuation))
    }

    mutating func cancel(_ serial: Int) {
        guard let index = open.firstIndex(where: { $0.serial == serial }) else { return }
        open.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    /// The waiting questions, up to the hub's limits (R8.4, R11.8).
    mutating func next(_ machine: inout ClientMachine) -> [ClientAction] {
        guard let limits = machine.session?.limits else { return [] }
        var actions: [ClientAction] = []
        for index in open.indices where open[index].number == nil {
            let isQuery = open[index].isQuery
            let count = open.count { $0.number != nil && $0.isQuery == isQuery }
            guard count < (isQuery ? limits.queries : Self.maximumTokens) else { continue }
            let number = machine.nextNumber()
            open[index].number = number
            if let action = machine.message(open[index].make(number)) { actions.append(action) }
        }
        return actions
    }

    /// Handles RESULT or TOKEN with a number, or an ERROR that refers to it.
    /// - Returns: whether a question was waiting for it.
    mutating func answer(_ number: Int64?, _ message: HubMessage) -> Bool {
        guard let number, let index = open.firstIndex(where: { $0.number == number }) else { return false }
        let question = open.remove(at: index)
        if case .error(let error) = message {
            let reason = "the hub refused: \(error.reason) (\(error.code))"
            question.continuation.resume(throwing: AskError(.refused, reason, error: error))
        } else {
            question.continuation.resume(returning: message)
        }
        return true
    }

    /// Fails the sent questions that may not be repeated; the others wait again.
    mutating func sessionLost() {
        let lost = open.filter { $0.number != nil && !$0.repeats }
        open.removeAll { $0.number != nil && !$0.repeats }
        for index in open.indices { open[index].number = nil }
        for question in lost {
            question.continuation.resume(throwing: AskError(.lost, "the session ended before the hub answered"))
        }
    }

    mutating func stop() {
        let questions = open
        open = []
        for question in questions { question.continuation.resume(throwing: Self.stopped) }
    }
}

extension HubLink {
    /// Sends a question as soon as there is a session, and returns the answer: RESULT or TOKEN.
    ///
    /// - Parameters:
    ///   - repeats: whether the question may be sent again if the session is lost before the answer.
    ///   - make: creates the message with its number.
    /// - Throws: ``AskError``, or `CancellationError`.
    func ask(repeats: Bool, _ make: @escaping @Sendable (Int64) -> ClientMessage) async throws -> HubMessage {
        let serial = nextSerial()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                guard !rejectsRequests else { return continuation.resume(throwing: HubQuestions.stopped) }
                questions.add(serial, repeats: repeats, continuation, make)
                sendQuestions()
            }
        } onCancel: {
            Task { await self.cancelQuestion(serial) }
        }
    }

    private func cancelQuestion(_ serial: Int) {
        questions.cancel(serial)
        sendQuestions()
    }

    /// Passes an answer, or an ERROR, to the question with the number.
    /// - Returns: whether a question was waiting for the message.
    func answer(_ number: Int64?, _ message: HubMessage) -> Bool {
        guard questions.answer(number, message) else { return false }
        sendQuestions()
        return true
    }

    func sendQuestions() { perform(questions.next(&machine)) }
}
