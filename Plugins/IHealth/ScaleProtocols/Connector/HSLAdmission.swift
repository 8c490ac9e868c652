import Synchronization

/// The handshakes of a link that waits for a program that speaks HSL/1.
final class HSLAdmission: Admission {
    private struct State {
        var handshakes: HSLHandshakes
        /// The greeting of the last guest that was let in.
        var greeting: HSLGreeting?
    }

    private let state: Mutex<State>
    private let startedAt = ContinuousClock.now

    /// Returns `nil` if the link does not listen, or waits for a scale itself.
    init?(_ link: ScaleLink, _ dialogue: any ScaleDialogue) {
        guard link.awaitsHSL, let dialogue = dialogue as? HSLDialogue else { return nil }
        state = Mutex(State(handshakes: dialogue.handshakes()))
    }

    var deadline: ContinuousClock.Instant? {
        state.withLock { $0.handshakes.deadline.map { startedAt + $0 } }
    }

    func handle(_ event: AdmissionEvent, at now: ContinuousClock.Instant) -> [AdmissionAction] {
        state.withLock { state in
            let input: HSLHandshakes.Input
            switch event {
            case .came(let number, let address): input = .came(number, from: address)
            case .said(let number, let bytes): input = .said(number, bytes)
            case .left(let number): input = .left(number)
            case .declined(let number): input = .declined(number)
            case .tick: input = .tick
            case .entered(let number):
                state.greeting = state.handshakes.enter(number)
                return []
            }
            return state.handshakes.handle(input, at: now - startedAt).map { action in
                switch action {
                case .send(let bytes, let number): .say(number, bytes)
                case .dismiss(let number): .dismiss(number)
                case .admit(let number): .admit(number)
                case .warning(let text): .remark(text)
                }
            }
        }
    }

    /// The greeting of the program that was let in last; no other program is let in before that link has ended.
    fileprivate func takeGreeting() -> HSLGreeting? { state.withLock { $0.greeting.take() } }
}

extension LinkRunner {
    /// The inputs for a dialogue after ``Event/opened``.
    func greeting(at door: HSLAdmission?) -> [ScaleInput] {
        [.caller(caller), door?.takeGreeting().map { .greeted($0) } ?? .linkOpened]
    }
}
