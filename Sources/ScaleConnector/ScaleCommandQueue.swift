public import ScaleProtocols
import Synchronization

/// Where the commands of a plugin wait for the task that talks to the scale.
///
/// A plugin makes one and hands it to its connector; its commands call from any thread.
public final class ScaleCommandQueue: Sendable {
    /// What a scale made of a command.
    public enum Answer: Sendable, Hashable {
        case users([UInt32?])
        case done
        /// It was not done; why, in a sentence, where that is known.
        case refused(String?)
        /// No scale came in time, or the session ended before the answer.
        case noScale
    }

    enum Order: Sendable {
        /// `of` is the scale's id; nil: the only one.
        case command(ScaleCommand, of: String?)
        /// Give these of the scale with this id to the hub, unless they are known.
        case keep([CloudWeighing], of: String)
    }

    struct Request: Sendable {
        let number: Int
        let order: Order
        let answer: CheckedContinuation<Answer, Never>
    }

    private struct State {
        var waiting: [Request] = []
        /// Of requests that the connector has: those whose caller does not wait any more.
        var withdrawn: Set<Int> = []
        var next = 0
        var wake: (@Sendable () -> Void)?
        /// A command has changed what the connector looks at while it does not talk to a scale.
        var isRung = false
        var sleeper: CheckedContinuation<Void, Never>?
        var isServed = false
    }

    private let state = Mutex(State())

    public init() {}

    /// Asks the scale, as soon as one is connected.
    ///
    /// Cancelling the task takes the request back, unless the scale has it already; what it does with it is answered then.
    ///
    /// - Parameter device: the scale's id; nil: the only one.
    public func ask(_ command: ScaleCommand, of device: String? = nil) async -> Answer {
        await put(.command(command, of: device))
    }

    /// Has weighings of the cloud kept, whether or not a scale is connected.
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

    /// Has the connector look again at what decides whether it may measure.
    public func ring() {
        let sleeper = state.withLock { state in
            state.isRung = true
            return state.sleeper.take()
        }
        sleeper?.resume()
    }

    // MARK: The connector's side

    /// From now on requests are taken; `wake` is called when one comes.
    func open(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { ($0.wake, $0.isServed) = (wake, true) }
    }

    /// Those who wait are told that no scale came.
    func close() {
        let waiting = state.withLock { state in
            defer { (state.waiting, state.wake, state.isServed) = ([], nil, false) }
            return state.waiting
        }
        for request in waiting { request.answer.resume(returning: .noScale) }
    }

    /// Whether the caller of a request that was taken does not wait any more.
    func isWithdrawn(_ request: Request) -> Bool { state.withLock { $0.withdrawn.contains(request.number) } }

    /// The answer of a request that was taken.
    func answer(_ request: Request, _ answer: Answer) {
        state.withLock { _ = $0.withdrawn.remove(request.number) }
        request.answer.resume(returning: answer)
    }

    /// - Parameter mayAsk: whether a scale is there that can be asked now.
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
