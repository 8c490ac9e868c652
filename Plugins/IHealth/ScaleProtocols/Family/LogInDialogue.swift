/// The host's side of the log-in of HS4 and HS5: nonce, challenge, answer, verdict.
///
/// It is a value; its owner sends its messages and passes the scale's messages to it.
struct LogInDialogue: Sendable {
    enum Step: Sendable, Hashable {
        /// Send this command.
        case send(FamilyCommand, [UInt8])
        case accepted
        /// The scale rejects the answer, or sent no usable challenge.
        case refused
        /// Nothing to do: the message does not belong here.
        case ignore
    }

    private enum State { case awaitingChallenge, awaitingVerdict, over }

    private let key: ScaleKey
    private let nonce: [UInt8]
    private var state = State.over
    private var beginnings = 0

    /// How often a scale may restart the log-in on one connection.
    private static let beginningsLimit = 3

    /// - Parameter nonce: 16 random bytes.
    init(key: ScaleKey, nonce: [UInt8]) { (self.key, self.nonce) = (key, nonce) }

    mutating func begin() -> Step {
        beginnings += 1
        guard beginnings <= LogInDialogue.beginningsLimit else {
            state = .over
            return .refused
        }
        state = .awaitingChallenge
        return .send(.logInNonce, ScaleKey.reversed(nonce))
    }

    mutating func receive(_ message: LogInMessage) -> Step {
        switch (message, state) {
        case (.again, .awaitingChallenge), (.again, .awaitingVerdict): return begin()
        case (.challenge(let data), .awaitingChallenge):
            guard let answer = key.answer(to: data) else {
                state = .over
                return .refused
            }
            state = .awaitingVerdict
            return .send(.logInAnswer, answer)
        case (.accepted, .awaitingVerdict):
            state = .over
            return .accepted
        case (.refused, .awaitingVerdict), (.refused, .awaitingChallenge):
            state = .over
            return .refused
        default: return .ignore
        }
    }
}
