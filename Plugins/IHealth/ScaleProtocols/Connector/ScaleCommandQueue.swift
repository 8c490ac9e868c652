import Synchronization

/// A queue of a plugin's commands for the task that talks to the scale.
///
/// A plugin creates one and passes it to its connector; its commands call it from any thread.
public final class ScaleCommandQueue: Sendable {
    /// The outcome of a command.
    public enum Answer: Sendable, Hashable {
        case users([UInt32?])
        case done
        /// The command was not executed; the reason, in a sentence, if it is known.
        case refused(String?)
        /// No scale connected in time, or the session ended before the answer.
        case noScale
    }

    enum Order: Sendable {
        /// `of` is the scale's id; `nil` for the only scale.
        case command(ScaleCommand, of: String?)
        /// Give the unknown ones of these weighings of the scale with this id to the hub.
        case keep([CloudWeighing], of: String)
    }

    struct Request: Sendable {
        let number: Int
        let order: Order
        let answer: CheckedContinuation<Answer, Never>
    }

    private struct State {
        var waiting: [Request] = []
        /// Requests in the connector's hands whose caller no longer waits.
        var withdrawn: Set<Int> = []
        var next = 0
        var wake: (@Sendable () -> Void)?
        /// Whether a command has changed something that the connector checks while it does not talk to a scale.
        var isRung = false
        var sleeper: CheckedContinuation<Void, Never>?
        var isServed = false
    }

    private let state = Mutex(State())

    public init() {}

    /// Sends a command to the scale as soon as one is connected.
    ///
    /// Cancelling the task withdraws the request, unless the scale already has it; the call then returns the scale's answer.
    ///
    /// - Parameter device: the scale's id; `nil` for the only scale.
    public func ask(_ command: ScaleCommand, of device: String? = nil) async -> Answer {
        await put(.command(command, of: device))
    }

    /// Passes weighings of the cloud to the connector, whether or not a scale is connected.
    func keep(_ weighings: [CloudWeighing], of device: String) async -> Answer {
        await put(.keep(weighings, of: device))
    }

    private func put(_ order: Order) async -> Answer {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isLate = state.withLock { state in
                    guard state.isServed, !Task.isCancelled else {
                        state.withdrawn.remove(number)
                        return true
                    }
                    state.waiting.append(Request(number: number, order: order, answer: continuation))
                    return false
                }
                if isLate { return continuation.resume(returning: .noScale) }
                state.withLock(\.wake)?()
            }
        } onCancel: {
            let (request, wake) = state.withLock { state in
                let place = state.waiting.firstIndex { $0.number == number }
                if place == nil { state.withdrawn.insert(number) }
                return (place.map { state.waiting.remove(at: $0) }, state.wake)
            }
            if let request { request.answer.resume(returning: .noScale) } else { wake?() }
        }
    }

    /// Makes the connector check again whether it may measure.
    public func ring() {
        let sleeper = state.withLock { state in
            state.isRung = true
            return state.sleeper.take()
        }
        sleeper?.resume()
    }

    // MARK: The connector's side

    /// Starts to accept requests; `wake` is called when one arrives.
    func open(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { ($0.wake, $0.isServed) = (wake, true) }
    }

    /// Fails the waiting requests, because no scale came.
    func close() {
        let waiting = state.withLock { state in
            defer { (state.waiting, state.wake, state.isServed) = ([], nil, false) }
            return state.waiting
        }
        for request in waiting { request.answer.resume(returning: .noScale) }
    }

    /// Whether the caller of a taken request no longer waits.
    func isWithdrawn(_ request: Request) -> Bool { state.withLock { $0.withdrawn.contains(request.number) } }

    /// Answers a taken request.
    func answer(_ request: Request, _ answer: Answer) {
        state.withLock { _ = $0.withdrawn.remove(request.number) }
        request.answer.resume(returning: answer)
    }

    /// - Parameter mayAsk: whether a scale is connected that accepts commands now.
    func takeNext(mayAsk: Bool) -> Request? {
        state.withLock { state in
            state.waiting.firstIndex { if case .command = $0.order { mayAsk } else { true } }
                .map { state.waiting.remove(at: $0) }
        }
    }

    /// Returns at ``ring()``, after `time`, or when the task is cancelled.
    func sleep(for time: Duration) async {
        let alarm = Task {
            try await Task.sleep(for: time)
            self.ring()
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isRung = state.withLock { state in
                    guard !state.isRung, !Task.isCancelled else { return true }
                    state.sleeper = continuation
                    return false
                }
                if isRung { continuation.resume() }
            }
        } onCancel: {
            self.ring()
        }
        alarm.cancel()
        state.withLock { $0.isRung = false }
    }
}
