import Platform
import Synchronization

/// The planned faults, with their remaining repetitions.
public final class FaultQueue: Sendable {
    private struct State {
        var faults: [Fault] = []
        var random: SeededGenerator
    }

    /// Names of faults that only the service can produce.
    public let forms: [String]
    private let state: Mutex<State>

    /// - Parameter seed: decides which requests a fault with a percentage affects.
    public init(_ faults: [Fault] = [], forms: [String] = [], seed: UInt64 = 1) {
        self.forms = forms
        state = Mutex(State(faults: faults, random: SeededGenerator(seed: seed)))
    }

    /// The planned faults, with their remaining repetitions.
    public var faults: [Fault] { state.withLock(\.faults) }

    public func replace(_ faults: [Fault]) { state.withLock { $0.faults = faults } }

    public func add(_ faults: [Fault]) { state.withLock { $0.faults += faults } }

    /// The faults for this request: all delays and forms that apply, and the first of the others.
    ///
    /// - Parameter canHappen: whether a fault can happen at this place; the others stay in the queue.
    public func draw(for path: String, where canHappen: (Fault.Kind) -> Bool = { _ in true }) -> [Fault] {
        state.withLock { state in
            var drawn: [Fault] = []
            var hasEnd = false
            for index in state.faults.indices {
                let fault = state.faults[index]
                guard fault.path.isEmpty || path.contains(fault.path), fault.times != 0,
                    canHappen(fault.kind)
                else { continue }
                let isEnd =
                    switch fault.kind {
                    case .delay, .form: false
                    default: true
                    }
                guard !(isEnd && hasEnd) else { continue }
                guard fault.percent == 100 || Double.random(in: 0..<100, using: &state.random) < fault.percent else {
                    continue
                }
                hasEnd = hasEnd || isEnd
                if let times = fault.times { state.faults[index].times = times - 1 }
                drawn.append(fault)
            }
            state.faults.removeAll { $0.times == 0 }
            return drawn
        }
    }
}
