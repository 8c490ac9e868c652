import HubWire

/// A question of the plugin that waits to be sent, or for its answer.
struct HubQuestion {
    let serial: Int
    let make: @Sendable (Int64) -> ClientMessage
    /// Whether it is asked again in the next session; else the loss of this one is its answer.
    let repeats: Bool
    /// Its number in this session; `nil` while it waits to be sent.
    var number: Int64?
    let continuation: CheckedContinuation<HubMessage, any Error>
}

extension HubLink {
    /// Asks, as soon as there is a session, and returns the answer: RESULT or TOKEN.
    ///
    /// - Parameters:
    ///   - repeats: whether it may be asked again when the session is lost before the answer.
    ///   - make: the message with its number.
    /// - Throws: ``AskError``, or `CancellationError`.
    func question(repeats: Bool, _ make: @escaping @Sendable (Int64) -> ClientMessage) async throws -> HubMessage {
        lastQuestion += 1
        let serial = lastQuestion
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                guard !isStopping, end == nil else { return continuation.resume(throwing: Self.stoppedAsking) }
                questions.append(
                    HubQuestion(serial: serial, make: make, repeats: repeats, continuation: continuation))
                sendQuestions()
            }
        } onCancel: {
            Task { await self.forget(serial) }
        }
    }

    private static let stoppedAsking = AskError(.stopping, "the plugin is being stopped before the hub has answered")

    private func forget(_ serial: Int) {
        guard let index = questions.firstIndex(where: { $0.serial == serial }) else { return }
        questions.remove(at: index).continuation.resume(throwing: CancellationError())
        sendQuestions()
    }

    /// Sends what may be sent: no more queries at a time than the hub takes (R8.4).
    func sendQuestions() {
        guard machine.isOpen, let limits = machine.welcome?.limits else { return }
        var openQueries = questions.count { $0.number != nil && $0.isQuery }
        for index in questions.indices where questions[index].number == nil {
            if questions[index].isQuery {
                guard openQueries < limits.queries else { continue }
                openQueries += 1
            }
            let number = machine.nextNumber()
            questions[index].number = number
            if let action = machine.message(questions[index].make(number)) { perform([action]) }
        }
    }

    /// RESULT or TOKEN of a number, or an ERROR that refers to it.
    /// - Returns: whether a question waited for it.
    func answerQuestion(_ number: Int64?, _ message: HubMessage) -> Bool {
        guard let number, let index = questions.firstIndex(where: { $0.number == number }) else { return false }
        let question = questions.remove(at: index)
        if case .error(let error) = message {
            let reason = "the hub refused: \(error.reason) (\(error.code))"
            question.continuation.resume(throwing: AskError(.refused, reason, error: error))
        } else {
            question.continuation.resume(returning: message)
        }
        sendQuestions()
        return true
    }

    /// The session is over: what was sent waits again, or has the loss as its answer.
    func loseQuestions() {
        let lost = questions.filter { $0.number != nil && !$0.repeats }
        questions.removeAll { $0.number != nil && !$0.repeats }
        for index in questions.indices { questions[index].number = nil }
        for question in lost {
            question.continuation.resume(throwing: AskError(.lost, "the session ended before the hub answered"))
        }
    }

    /// Nobody asks any longer.
    func stopQuestions() {
        let open = questions
        questions = []
        for question in open { question.continuation.resume(throwing: Self.stoppedAsking) }
    }
}

extension HubQuestion {
    fileprivate var isQuery: Bool {
        if case .query = make(0) { true } else { false }
    }
}
